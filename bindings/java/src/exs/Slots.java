// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Several copies of data that are published in a {@link Window}, so that peers find a whole one however often it is updated ({@link
 * RemoteWindow#snapshotOfSlots}). Each update stores all of the data into another slot. Thread: one at a time.
 */
public final class Slots {
  private final Memory memory;
  private final int at;
  private final int slotBytes;

  private Slots(Memory memory, int at, int slotBytes) {
    this.memory = memory;
    this.at = at;
    this.slotBytes = slotBytes;
  }

  /**
   * The memory that slots need.
   *
   * @param count of slots, 2 to 32
   * @param slotBytes of each, in bytes
   * @return bytes
   * @throws IllegalArgumentException another count, or too large slots
   */
  public static long bytes(int count, long slotBytes) {
    final long bytes = count < 0 || slotBytes < 0 ? 0 : Native.slotsBytes(count, slotBytes);
    if (bytes == 0) throw new IllegalArgumentException(count + " slots of " + slotBytes + " bytes");
    return bytes;
  }

  /**
   * Sets up slots, before a peer reads them.
   *
   * @param memory the memory
   * @param at the first byte, a multiple of 8; {@link #bytes} follow
   * @param count of slots, 2 to 32
   * @param slotBytes of each, in bytes
   * @return the slots
   * @throws IllegalArgumentException another count, place or size
   * @throws IndexOutOfBoundsException the memory is too small
   */
  public static Slots in(Memory memory, int at, int count, int slotBytes) {
    if (at % Long.BYTES != 0) throw new IllegalArgumentException("slots at " + at);
    Native.startSlots(memory.address(at, Math.toIntExact(bytes(count, slotBytes))), count, slotBytes);
    return new Slots(memory, at, slotBytes);
  }

  /**
   * Starts an update.
   *
   * @return the slot to store all of it into, in the byte order of the machine
   */
  public ByteBuffer begin() {
    final long address = Native.beginSlot(memory.address() + at);
    return memory.buffer().slice((int) (address - memory.address()), slotBytes).order(ByteOrder.nativeOrder());
  }

  /** Publishes the update. */
  public void end() {
    Native.endSlot(memory.address() + at);
    java.lang.ref.Reference.reachabilityFence(memory);
  }
}
