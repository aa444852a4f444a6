// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.file.Path;

/** The right to be a service. Its memory is wiped when it is closed, or collected. Thread: any. */
public final class ServiceKey implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final long key;
  private final Gate gate = new Gate("a key");
  private final Cleaner.Cleanable wiping;

  private ServiceKey(long key) {
    this.key = key;
    wiping = CLEANER.register(this, () -> Native.freeKey(key));
  }

  /**
   * Makes the key of a new service.
   *
   * @return the key
   * @throws ExsException ENOMEM
   */
  public static ServiceKey create() throws ExsException {
    return new ServiceKey(Native.checkAddress(Native.createKey()));
  }

  /**
   * Reads a key.
   *
   * @param file a file of {@link #store}
   * @return the key
   * @throws ExsException EACCES: others may read the file, or it belongs to another user; EPROTO: it is no key; or errors of open(2)
   */
  public static ServiceKey load(Path file) throws ExsException {
    return new ServiceKey(Native.checkAddress(Native.loadKey(Native.text(file.toString()))));
  }

  /**
   * Writes the key into a new file of mode 0600.
   *
   * @param file a file that does not exist yet
   * @throws ExsException EEXIST: the file exists; or errors of open(2) and write(2)
   */
  public void store(Path file) throws ExsException {
    use(address -> Native.check(Native.storeKey(address, Native.text(file.toString()))));
  }

  /**
   * The name of the key's service.
   *
   * @return the ID
   * @throws ExsException EBADF: the key is closed
   */
  public ServiceId id() throws ExsException {
    final byte[] bytes = new byte[ServiceId.BYTES];
    use(address -> {
      Native.keyId(address, bytes);
      return 0;
    });
    return new ServiceId(bytes);
  }

  interface Use {
    long of(long key) throws ExsException;
  }

  long use(Use use) throws ExsException {
    gate.enter();
    try {
      return use.of(key);
    } finally {
      gate.leave();
      Reference.reachabilityFence(this);
    }
  }

  /** Forgets the key. Services that were opened with it continue. */
  @Override
  public void close() {
    if (gate.shut()) wiping.clean();
  }
}
