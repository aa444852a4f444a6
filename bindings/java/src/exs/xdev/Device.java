// SPDX-License-Identifier: BSD-2-Clause
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
   * @param dev the device's name: {@code "exsdev"}, over exs messages
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
   * @throws IllegalArgumentException invalid args
   * @throws ExsException as the class says; EADDRINUSE and others: this process cannot listen at its address
   */
  public abstract ProcessID[] init(String[] args) throws ExsException;

  /**
   * The process of this device.
   *
   * @return its process
   */
  public abstract ProcessID id();

  /**
   * Ends the device: sends complete, the other processes are notified, and remaining requests end. It is the last call.
   *
   * @throws ExsException ETIMEDOUT: a send was not matched within 10 seconds, and is given up
   */
  public abstract void finish() throws ExsException;

  /**
   * Starts a send.
   *
   * @param buf the data
   * @param dest the receiver
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return a request that ends when the buffer is free again
   * @throws ExsException as the class says
   */
  public abstract Request isend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Sends, and waits until the buffer is free again.
   *
   * @param buf the data
   * @param dest the receiver
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @throws ExsException as the class says
   */
  public abstract void send(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Starts a send that ends no sooner than a receive has matched it.
   *
   * @param buf the data
   * @param dest the receiver
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return a request that ends when it is matched and the buffer is free again
   * @throws ExsException as the class says
   */
  public abstract Request issend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Sends, and waits until a receive has matched it.
   *
   * @param buf the data
   * @param dest the receiver
   * @param tag any but {@link #ANY_TAG}
   * @param cntx 0 or more
   * @throws ExsException as the class says
   */
  public abstract void ssend(Buffer buf, ProcessID dest, int tag, int cntx) throws ExsException;

  /**
   * Receives the oldest message that matches, or waits for it.
   *
   * @param buf the destination
   * @param src the sender, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return the status of the message
   * @throws ExsException as the class says; EMSGSIZE: the message was longer than the buffer, and is cut
   */
  public abstract Status recv(Buffer buf, ProcessID src, int tag, int cntx) throws ExsException;

  /**
   * Starts a receive of the oldest message that matches.
   *
   * @param buf the destination
   * @param src the sender, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @param s filled when the program learns of the request's end; null: a new one is made
   * @return a request that ends when the message has arrived
   * @throws ExsException as the class says
   */
  public abstract Request irecv(Buffer buf, ProcessID src, int tag, int cntx, Status s) throws ExsException;

  /**
   * Waits for a message that such a receive would get.
   *
   * @param src the sender, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return the status of the message
   * @throws ExsException as the class says
   */
  public abstract Status probe(ProcessID src, int tag, int cntx) throws ExsException;

  /**
   * Returns whether a message has arrived that such a receive would get.
   *
   * @param src the sender, or {@link ProcessID#ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param cntx 0 or more
   * @return the status of the message; null: there is none
   * @throws ExsException as the class says
   */
  public abstract Status iprobe(ProcessID src, int tag, int cntx) throws ExsException;

  /**
   * Waits for any request to end, and returns it: each once, unless the program has learned of its end before. Sends that ended with
   * their calls are not returned.
   *
   * @return the request, whose {@link Request#iwait} does not wait
   * @throws ExsException as the class says
   */
  public abstract Request peek() throws ExsException;

  /**
   * The bytes that the device adds to each message in the sender's buffer.
   *
   * @return in bytes
   */
  public abstract int getSendOverhead();

  /**
   * The bytes that the device adds to each message in the receiver's buffer.
   *
   * @return in bytes
   */
  public abstract int getRecvOverhead();
}
