// SPDX-License-Identifier: BSD-2-Clause
package exs.xdev;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.ExsException;
import java.nio.BufferOverflowException;
import java.nio.BufferUnderflowException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every method of the device, in a process that sends to itself. */
@Timeout(60)
class DeviceTest {
  private Device device;
  private ProcessID self;

  @BeforeEach
  void init() throws ExsException {
    device = Device.newInstance("exsdev");
    self = device.init(new String[0])[0];
  }

  @AfterEach
  void finish() throws ExsException {
    device.finish();
  }

  private static Buffer filled(int... numbers) throws ExsException {
    final Buffer buffer = new Buffer(256);
    buffer.write(numbers, 0, numbers.length);
    return buffer;
  }

  private static int[] numbersIn(Buffer buffer) {
    final int[] numbers = new int[buffer.size() / 4];
    buffer.read(numbers, 0, numbers.length);
    return numbers;
  }

  @Test
  void it_is_identified_and_adds_nothing() {
    assertEquals(self, device.id());
    assertEquals(0, self.rank());
    assertEquals("process 0", self.toString());
    assertEquals("any process", ProcessID.ANY_SOURCE.toString());
    assertEquals(0, device.getSendOverhead());
    assertEquals(0, device.getRecvOverhead());
  }

  @Test
  void blocking_calls() throws ExsException {
    device.send(filled(1, 2, 3), self, 7, 1);
    final Buffer into = new Buffer(256);
    final Status status = device.recv(into, ProcessID.ANY_SOURCE, Device.ANY_TAG, 1);
    assertEquals(self, status.source());
    assertEquals(7, status.tag());
    assertEquals(1, status.context());
    assertEquals(12, status.size());
    assertArrayEquals(new int[] {1, 2, 3}, numbersIn(into));
    assertEquals("Status[process 0, tag 7, context 1, 12 bytes]", status.toString());
  }

  @Test
  void calls_that_do_not_block() throws ExsException {
    final Buffer into = new Buffer(256);
    final Status status = new Status();
    final Request receive = device.irecv(into, self, 7, 1, status);
    assertNull(receive.itest());
    final Request send = device.isend(filled(4, 5), self, 7, 1);
    send.iwait();
    assertSame(status, receive.iwait());
    assertSame(status, receive.itest());
    assertSame(into, receive.buffer());
    assertEquals(8, status.size());
    assertArrayEquals(new int[] {4, 5}, numbersIn(into));
  }

  @Test
  void synchronous_calls() throws ExsException {
    final Request send = device.issend(filled(1), self, 7, 1);
    assertNull(send.itest());
    device.recv(new Buffer(16), self, 7, 1);
    send.iwait();
    final Request receive = device.irecv(new Buffer(16), self, 8, 1, null);
    device.ssend(filled(2), self, 8, 1);
    assertEquals(4, receive.iwait().size());
  }

  @Test
  void probes() throws ExsException {
    assertNull(device.iprobe(self, 7, 1));
    device.send(filled(1, 2), self, 7, 1);
    assertEquals(8, device.iprobe(ProcessID.ANY_SOURCE, Device.ANY_TAG, 1).size());
    assertEquals(7, device.probe(self, Device.ANY_TAG, 1).tag());
  }

  @Test
  void peek_gives_the_request_that_has_ended() throws ExsException {
    final Request first = device.irecv(new Buffer(16), self, 1, 1, null);
    final Request second = device.irecv(new Buffer(16), self, 2, 1, null);
    device.send(filled(9), self, 2, 1);
    assertSame(second, device.peek());
    device.send(filled(9), self, 1, 1);
    assertSame(first, device.peek());
    assertEquals(2, second.iwait().tag());
  }

  @Test
  void a_cancelled_receive_says_so() throws ExsException {
    final Request receive = device.irecv(new Buffer(16), self, 1, 1, null);
    receive.cancel();
    assertTrue(receive.iwait().isCancelled());
  }

  @Test
  void buffers_hold_arrays_of_all_kinds_in_a_row() throws ExsException {
    final Buffer buffer = new Buffer(100);
    buffer.write(new byte[] {1, 2, 3}, 1, 2);
    buffer.write(new short[] {-4}, 0, 1);
    buffer.write(new char[] {'x'}, 0, 1);
    buffer.write(new int[] {5, 6}, 0, 2);
    buffer.write(new long[] {7}, 0, 1);
    buffer.write(new float[] {8.5f}, 0, 1);
    buffer.write(new double[] {9.25}, 0, 1);
    assertEquals(2 + 2 + 2 + 8 + 8 + 4 + 8, buffer.size());
    assertEquals(buffer.size(), buffer.bytes().remaining());
    final byte[] bytes = new byte[2];
    final short[] shorts = new short[1];
    final char[] chars = new char[1];
    final int[] ints = new int[2];
    final long[] longs = new long[1];
    final float[] floats = new float[1];
    final double[] doubles = new double[1];
    for (final Object array : new Object[] {bytes, shorts, chars, ints, longs, floats, doubles})
      buffer.read(array, 0, java.lang.reflect.Array.getLength(array));
    assertArrayEquals(new byte[] {2, 3}, bytes);
    assertEquals(-4, shorts[0]);
    assertEquals('x', chars[0]);
    assertArrayEquals(new int[] {5, 6}, ints);
    assertEquals(7, longs[0]);
    assertEquals(8.5f, floats[0]);
    assertEquals(9.25, doubles[0]);
    assertThrows(BufferUnderflowException.class, () -> buffer.read(new byte[1], 0, 1));
    assertThrows(BufferOverflowException.class, () -> buffer.write(new double[20], 0, 20));
    assertThrows(IllegalArgumentException.class, () -> buffer.write(new boolean[1], 0, 1));
    buffer.clear();
    assertEquals(0, buffer.size());
  }

  @Test
  void misuse_is_told() throws ExsException {
    assertThrows(IllegalArgumentException.class, () -> Device.newInstance("niodev"));
    assertThrows(IllegalStateException.class, () -> Device.newInstance("exsdev").id());
    assertThrows(IllegalStateException.class, () -> device.init(new String[0]));
    assertThrows(IllegalArgumentException.class, () -> Device.newInstance("exsdev").init(new String[] {"x", "127.0.0.1:1"}));
    final ExsException failure = assertThrows(ExsException.class, () -> device.send(filled(1), new ProcessID(5), 0, 0));
    assertEquals(22, failure.errno());
  }

  @Test
  void a_list_starts_it_as_well() throws ExsException {
    final Device other = Device.newInstance("exsdev");
    assertEquals(1, other.init(new String[] {"0", "127.0.0.1:0"}).length);
    other.finish();
  }
}
