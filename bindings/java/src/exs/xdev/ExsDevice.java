// SPDX-License-Identifier: BSD-2-Clause
package exs.xdev;

import exs.ExsException;
import exs.Job;
import exs.MessageChannel;
import java.util.Arrays;
import java.util.List;

/** The device over messages of exs. Thread: any. */
final class ExsDevice extends Device {
  private volatile MessageChannel channel;

  @Override
  public synchronized ProcessID[] init(String[] args) throws ExsException {
    if (channel != null) throw new IllegalStateException("the device has been started before");
    final MessageChannel joined = args == null || args.length == 0 ? MessageChannel.open() : MessageChannel.open(jobOf(args));
    channel = joined;
    final ProcessID[] all = new ProcessID[joined.size()];
    Arrays.setAll(all, ProcessID::new);
    return all;
  }

  private static Job jobOf(String[] args) {
    final List<String> addresses = Arrays.asList(args).subList(1, args.length);
    try {
      return new Job(Integer.parseInt(args[0]), addresses);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("no rank: " + args[0], e);
    }
  }

  @Override
  public ProcessID id() {
    return new ProcessID(started().rank());
  }

  @Override
  public void finish() throws ExsException {
    started().close();
  }

  @Override
  public Request isend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException {
    return new Request(started().isend(buf.bytes(), dest.rank(), tag, cntx), buf, new Status());
  }

  @Override
  public void send(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException {
    started().send(buf.bytes(), dest.rank(), tag, cntx);
  }

  @Override
  public Request issend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException {
    return new Request(started().issend(buf.bytes(), dest.rank(), tag, cntx), buf, new Status());
  }

  @Override
  public void ssend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException {
    started().ssend(buf.bytes(), dest.rank(), tag, cntx);
  }

  @Override
  public Status recv(Buffer buf, ProcessID src, int tag, int cntx) throws ExsException {
    final exs.Status told = started().recv(buf.room(), src.rank(), tag, cntx);
    buf.received(told.length());
    return Status.of(told);
  }

  @Override
  public Request irecv(Buffer buf, ProcessID src, int tag, int cntx, Status s) throws ExsException {
    return new Request(started().irecv(buf.room(), src.rank(), tag, cntx), buf, s == null ? new Status() : s);
  }

  @Override
  public Status probe(ProcessID src, int tag, int cntx) throws ExsException {
    return Status.of(started().probe(src.rank(), tag, cntx, -1));
  }

  @Override
  public Status iprobe(ProcessID src, int tag, int cntx) throws ExsException {
    final exs.Status told = started().iprobe(src.rank(), tag, cntx);
    return told == null ? null : Status.of(told);
  }

  @Override
  public Request peek() throws ExsException {
    // A request may end before its wrapper is attached. The thread that gets it then has to wait for that moment.
    final exs.Request named = started().peek(-1);
    Object wrapper = named.attachment();
    while (wrapper == null) {
      Thread.onSpinWait();
      wrapper = named.attachment();
    }
    return (Request) wrapper;
  }

  @Override
  public int getSendOverhead() {
    return 0;
  }

  @Override
  public int getRecvOverhead() {
    return 0;
  }

  private MessageChannel started() {
    final MessageChannel started = channel;
    if (started == null) throw new IllegalStateException("the device has not been started: init()");
    return started;
  }
}
