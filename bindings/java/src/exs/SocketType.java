// SPDX-License-Identifier: BSD-2-Clause
package exs;

/** The content of a socket. */
public enum SocketType {
  /** Bytes, as in TCP. */
  STREAM,
  /** Messages, each received as it was sent; only these have windows. */
  MESSAGES
}
