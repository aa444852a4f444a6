// SPDX-License-Identifier: BSD-2-Clause
package mpjdev.javampjdev;

import mpjdev.MPJDevException;
import xdev.Device;
import xdev.ProcessID;
import xdev.exsdev.ExsDevice;
import xdev.hybdev.HYBDevice;
import xdev.mxdev.MXDevice;
import xdev.niodev.NIODevice;

/**
 * Replaces MPJ Express's class of this name, which knows its devices by literal names. This one knows exsdev, too. It comes earlier in
 * the class path, and MPJ's other classes call it as they call theirs.
 */
public class MPJDev {
  /** The communicator of all processes. */
  public static Comm WORLD;
  /** The device, from {@link #init} to {@link #finish}. */
  public static Device dev;

  /** As MPJ's class. */
  public MPJDev() {}

  /**
   * Starts the device.
   *
   * @param args rank, an argument for the device, the device's name, and the program's arguments
   * @return the device
   * @throws MPJDevException fewer arguments, or no device of that name
   */
  public static Device init(String[] args) throws MPJDevException {
    if (args.length < 3) throw new MPJDevException("MPJDev.init: rank, configuration and device are expected, not " + args.length + " arguments");
    synchronized (MPJDev.class) {
      if (dev == null) dev = device(args[2]);
    }
    final ProcessID[] processes = dev.init(args);
    final ProcessID own = dev.id();
    int rank = -1;
    for (int at = 0; at < processes.length; ++at)
      if (processes[at].uuid().equals(own.uuid())) rank = at;
    WORLD = new Comm(dev, new Group(processes, own, rank));
    return dev;
  }

  private static Device device(String name) {
    switch (name) {
      case "exsdev": return new ExsDevice();
      case "niodev": return new NIODevice();
      case "hybdev": return new HYBDevice();
      case "mxdev": return new MXDevice();
      default: throw new MPJDevException("there is no device " + name + ", but exsdev, niodev, hybdev and mxdev; smpdev is of mpjrun -dev multicore");
    }
  }

  /**
   * The bytes that a device needs before the data of a buffer that is sent.
   *
   * @return bytes
   */
  public static int getSendOverhead() {
    return started().getSendOverhead();
  }

  /**
   * The bytes that a device needs before the data of a buffer that is received into.
   *
   * @return bytes
   */
  public static int getRecvOverhead() {
    return started().getRecvOverhead();
  }

  /**
   * Stops the device.
   *
   * @throws MPJDevException it failed
   */
  public static void finish() throws MPJDevException {
    try {
      started().finish();
    } catch (xdev.XDevException failure) {
      throw new MPJDevException(failure);
    }
    dev = null;
  }

  private static Device started() {
    if (dev == null) throw new MPJDevException("MPJDev: init comes first");
    return dev;
  }
}
