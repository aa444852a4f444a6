// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.lang.annotation.Native;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * An exs_svc_node_options_t without its texts, and an exs_svc_options_t, of which a call passes the bytes. The constants are in the
 * header that javac makes, and services.cc compares them with those of C.
 */
final class Options {
  @Native static final int NODE_FIND_AT = 16;
  @Native static final int NODE_LINKS_AT = 24;
  @Native static final int NODE_LINKS_EACH_AT = 28;
  @Native static final int NODE_FLOWS_AT = 32;
  @Native static final int NODE_MEMORY_AT = 56;
  @Native static final int NODE_BYTES = 88;

  @Native static final int ONLY_WITH_CAPABILITY_AT = 8;
  @Native static final int SERIAL_MIN_AT = 12;
  @Native static final int MAILBOX_AT = 16;
  @Native static final int MAILBOX_EACH_AT = 20;
  @Native static final int MEMORY_AT = 24;
  @Native static final int MEMORY_EACH_AT = 32;
  @Native static final int FLAGS_AT = 40;
  @Native static final int BYTES = 48;
  @Native static final int FENCED = 1;

  private Options() {}

  /** Makes options with all defaults; a call passes the buffer's array. */
  static ByteBuffer create(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder());
  }
}
