package exs.xdev;

import exs.ExsException;

/**
 * A communication device of message passing in Java: point-to-point messages between processes, by {@link ProcessID}, tag and context.
 * The methods are those of Listing 1 of "Design of scalable Java message-passing communications over InfiniBand" (Expósito, Taboada,
 * Touriño, Doallo).
 *
 * <p>Threads: any thread may call anything at any time, between {@link #init} and {@link #finish}; else IllegalStateException. Buffers
 * belong to the device from a call until its end.
 *
 * <p>Errors: {@link ExsException} with EINVAL: a process, tag or context that cannot be; ECONNRESET: the other process, or one that might have
 * been, has died; EPIPE: it has left; EINTR: the thread was interrupted while it waited; ENOMEM.
 */
public abstract class Device {
  /** As a tag: any tag. */
  public static final int ANY_TAG = exs.MessageChannel.ANY_TAG;

  /** For devices. */
  protected Device() {}

  /**
   * Makes a device, to be started by {@link #init}.
   *
   * @param dev its name: {@code "exsdev"}, over exs messages
   * @return the device
   * @throws IllegalArgumentException another name
   */
  public static Device newInstance(String dev) {
    if (!"exsdev".equals(dev)) throw new IllegalArgumentException("no device " + dev + "; there is exsdev");
    return new ExsDevice();
  }

  /**
   * Starts the device.
   *
   * @param args none: in the job that exs-run has started, or alone; else the rank of this process and the addresses of all processes by
   *     rank, as {@code host:port}
   * @return the processes of the job, by rank
   * @throws IllegalArgumentException what means nothing in args
   * @throws ExsException as the class says; EADDRINUSE and others: the address of this process cannot be listened at
   */
  public abstract ProcessID[] init(String[] args) throws ExsException;

  /**
   * Who this device is.
   *
   * @return its process
   */
  public abstract ProcessID id();

  /**
   * Ends the device: sends complete, the others are told, and what is left ends. The last call.
   *
   * @throws ExsException ETIMEDOUT: a send was not matched within 10 seconds, and is given up
   */
  public abstract void finish() throws ExsException;

  /**
   * Starts a send.
   *
   * @param buf what
   * @param dest to whom
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return ends when the buffer is free again
   * @throws ExsException as the class says
   */
  public abstract Request isend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Sends, and waits until the buffer is free again.
   *
   * @param buf what
   * @param dest to whom
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @throws ExsException as the class says
   */
  public abstract void send(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Starts a send that ends no sooner than a receive has matched it.
   *
   * @param buf what
   * @param dest to whom
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return ends when it is matched and the buffer is free again
   * @throws ExsException as the class says
   */
  public abstract Request issend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Sends, and waits until a receive has matched it.
   *
   * @param buf what
   * @param dest to whom
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @throws ExsException as the class says
   */
  public abstract void ssend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Receives the oldest message that matches, or waits for it.
   *
   * @param buf where to
   * @param src from whom, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return what came
   * @throws ExsException as the class says; EMSGSIZE: the message was longer than the buffer, and is cut
   */
  public abstract Status recv(Buffer buf, ProcessID src, int tag, int cntx) throws ExsException;

  /**
   * Starts a receive of the oldest message that matches.
   *
   * @param buf where to
   * @param src from whom, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @param s filled when the end of the request is heard of; null: one is made
   * @return ends when the message is there
   * @throws ExsException as the class says
   */
  public abstract Request irecv(Buffer buf, ProcessID src, int tag, int cntx, Status s) throws ExsException;

  /**
   * Waits for a message that such a receive would get.
   *
   * @param src from whom, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return what is known of it
   * @throws ExsException as the class says
   */
  public abstract Status probe(ProcessID src, int tag, int cntx) throws ExsException;

  /**
   * Whether a message is there that such a receive would get.
   *
   * @param src from whom, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return what is known of it; null: there is none
   * @throws ExsException as the class says
   */
  public abstract Status iprobe(ProcessID src, int tag, int cntx) throws ExsException;

  /**
   * Waits for any request to end, and names it: each once, unless its end was heard of before. Sends that ended with their calls are
   * not named.
   *
   * @return it, whose {@link Request#iwait} does not wait
   * @throws ExsException as the class says
   */
  public abstract Request peek() throws ExsException;

  /**
   * How many bytes the device adds to each message in the sender's buffer.
   *
   * @return in bytes
   */
  public abstract int getSendOverhead();

  /**
   * How many bytes the device adds to each message in the receiver's buffer.
   *
   * @return in bytes
   */
  public abstract int getRecvOverhead();
}
