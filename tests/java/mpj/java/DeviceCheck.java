// SPDX-License-Identifier: BSD-2-Clause
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import mpi.Intracomm;
import mpi.MPI;
import mpjbuf.Buffer;
import mpjbuf.BufferFactory;
import mpjbuf.Type;
import mpjdev.Status;
import xdev.Device;
import xdev.ProcessID;

/** Checks the promises of exsdev beyond MPJ's own programs: two ranks, each case in both directions. Prints the cases that hold. */
public final class DeviceCheck {
  private static final int CONTEXT = 77;
  private final Device device;
  private final ProcessID own;
  private final ProcessID other;
  private final boolean isFirst;

  private DeviceCheck(Device device, ProcessID[] all) {
    this.device = device;
    own = device.id();
    isFirst = own.uuid().equals(all[0].uuid());
    other = all[isFirst ? 1 : 0];
  }

  public static void main(String[] args) throws Exception {
    final Device device = mpjdev.javampjdev.MPJDev.init(args);
    final ProcessID[] all = device.init(args);
    final DeviceCheck check = new DeviceCheck(device, all);
    check.dataArrivesWhereverTheBufferBegins();
    check.objectsOfManyReceivesAreNotSwapped();
    check.peekGivesEachRequestOnce();
    check.aProbeTellsTagAndBytes();
    check.whatIsProbedIsFetched();
    check.aReceiveThatNothingMatchesIsCancelled();
    check.iwaitanyEnds();
    mpjdev.javampjdev.MPJDev.finish();
    check.mpiStartsAgain(args);
  }

  private void holds(boolean isTrue, String what) {
    if (!isTrue) throw new AssertionError(what);
  }

  private void say(String what) {
    if (isFirst) System.out.println(what);
  }

  private static Buffer room(int bytes, int offset) {
    return new Buffer(BufferFactory.create(bytes + 16 + offset), offset, bytes + 16 + offset);
  }

  private static Buffer ints(int offset, int... values) throws Exception {
    final Buffer buffer = room(4 * values.length, offset);
    buffer.putSectionHeader(Type.INT);
    buffer.write(values, 0, values.length);
    return buffer;
  }

  private static int[] intsOf(Buffer buffer, int count) throws Exception {
    final int[] values = new int[count];
    buffer.commit();
    buffer.getSectionHeader();
    holdsCount(buffer.getSectionSize(), count);
    buffer.read(values, 0, count);
    return values;
  }

  private static void holdsCount(int is, int expected) {
    if (is != expected) throw new AssertionError(is + " elements in place of " + expected);
  }

  private void dataArrivesWhereverTheBufferBegins() throws Exception {
    for (int count : new int[] {1, 1000, 100_000}) {
      final int[] values = new int[count];
      Arrays.setAll(values, at -> 3 * at);
      for (int sendAt : new int[] {0, 4, 8, 24}) {
        for (int receiveAt : new int[] {0, 8, 16}) {
          final Buffer into = room(4 * count, receiveAt);
          final mpjdev.Request receive = device.irecv(into, other, 1, CONTEXT, new Status());
          device.send(ints(sendAt, values), other, 1, CONTEXT);
          final Status status = receive.iwait();
          holds(status.srcID.equals(other.uuid()) && status.tag == 1 && status.type == Type.INT && status.numEls == count, "status");
          holds(Arrays.equals(values, intsOf(into, count)), "data from " + sendAt + " to " + receiveAt);
        }
      }
    }
    say("data arrives wherever the buffer begins");
  }

  private void objectsOfManyReceivesAreNotSwapped() throws Exception {
    final int many = 50;
    final Buffer[] into = new Buffer[many];
    final mpjdev.Request[] receives = new mpjdev.Request[many];
    final mpjdev.Request[] sends = new mpjdev.Request[many];
    for (int at = 0; at < many; ++at) {
      into[at] = room(8, 8);
      receives[at] = device.irecv(into[at], Device.ANY_SRC, at, CONTEXT, new Status());
    }
    for (int at = many - 1; at >= 0; --at) {
      final Buffer from = room(8, 8);
      from.putSectionHeader(Type.OBJECT);
      from.write(new Object[] {"number " + at + "x".repeat(at * 97)}, 0, 1);
      sends[at] = device.isend(from, other, at, CONTEXT);
    }
    for (int at = 0; at < many; ++at) {
      receives[at].iwait();
      sends[at].iwait();
      final Object[] object = new Object[1];
      into[at].commit();
      holds(into[at].getSectionHeader() == Type.OBJECT, "type");
      into[at].getSectionSize();
      into[at].read(object, 0, 1);
      holds(object[0].equals("number " + at + "x".repeat(at * 97)), "object " + at);
    }
    say("objects of many receives are not swapped");
  }

  private void peekGivesEachRequestOnce() throws Exception {
    final int many = 40;
    final Set<mpjdev.Request> open = new HashSet<>();
    for (int at = 0; at < many; ++at) open.add(device.irecv(room(400_000, 8), other, 100 + at, CONTEXT, new Status()));
    for (int at = 0; at < many; ++at) open.add(device.isend(ints(8, new int[at % 2 == 0 ? 1 : 50_000]), other, 100 + at, CONTEXT));
    while (!open.isEmpty()) {
      final mpjdev.Request ended = device.peek();
      holds(open.remove(ended), "peek gives a request again, or one that is nobody's");
      holds(ended.itest() != null, "peek gives a request that has not ended");
      ended.iwait();
    }
    say("peek gives each request once");
  }

  private void aProbeTellsTagAndBytes() throws Exception {
    final mpjdev.Request send = device.issend(ints(8, 1, 2, 3), other, 5, CONTEXT);
    final Status status = device.probe(Device.ANY_SRC, Device.ANY_TAG, CONTEXT);
    holds(status.srcID.equals(other.uuid()) && status.tag == 5 && status.countInBytes == 12, "probe");
    final Buffer into = room(12, 8);
    device.recv(into, other, 5, CONTEXT);
    holds(Arrays.equals(new int[] {1, 2, 3}, intsOf(into, 3)), "data");
    send.iwait();
    holds(device.iprobe(other, 6, CONTEXT) == null, "iprobe of nothing");
    say("a probe tells tag and bytes");
  }

  private void whatIsProbedIsFetched() throws Exception {
    for (int offset : new int[] {0, 8}) {
      final mpjdev.Request send = device.isend(ints(8, 7, 8), other, 9, CONTEXT);
      final Buffer into = room(8, offset);
      Status status = null;
      while (status == null) status = device.iprobeAndFetch(other, own, 9, CONTEXT, into);
      holds(status.numEls == 2 && Arrays.equals(new int[] {7, 8}, intsOf(into, 2)), "fetched");
      send.iwait();
    }
    say("what is probed is fetched");
  }

  private void aReceiveThatNothingMatchesIsCancelled() throws Exception {
    final mpjdev.Request receive = device.irecv(room(8, 8), other, 1234, CONTEXT, new Status());
    holds(receive.itest() == null && receive.cancel(), "cancel");
    say("a receive that nothing matches is cancelled");
  }

  private void iwaitanyEnds() throws Exception {
    final Map<Integer, Integer> seen = new HashMap<>();
    final mpjdev.Request[] receives = new mpjdev.Request[8];
    for (int at = 0; at < receives.length; ++at) receives[at] = device.irecv(room(4, 8), other, 300 + at, CONTEXT, new Status());
    for (int at = receives.length - 1; at >= 0; --at) device.send(ints(8, at), other, 300 + at, CONTEXT);
    for (int at = 0; at < receives.length; ++at) {
      final Status status = mpjdev.Request.iwaitany(receives);
      seen.merge(status.index, 1, Integer::sum);
      receives[status.index] = null;
    }
    holds(seen.size() == receives.length, "iwaitany");
    say("iwaitany ends");
  }

  /** Also uses the program's memory for buffered sends, which need not be direct. */
  private void mpiStartsAgain(String[] args) throws Exception {
    for (int round = 0; round < 3; ++round) {
      MPI.Init(args);
      final Intracomm world = MPI.COMM_WORLD;
      MPI.Buffer_attach(round % 2 == 0 ? ByteBuffer.allocate(4096) : ByteBuffer.allocateDirect(4096));
      final int[] number = {world.Rank()};
      world.Bsend(number, 0, 1, MPI.INT, 1 - world.Rank(), round);
      final int[] got = new int[1];
      world.Recv(got, 0, 1, MPI.INT, 1 - world.Rank(), round);
      holds(got[0] == 1 - world.Rank(), "bsend");
      MPI.Buffer_detach();
      MPI.Finalize();
    }
    say("MPI starts again");
  }
}
