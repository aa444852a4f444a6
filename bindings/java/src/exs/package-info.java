/**
 * exs for Java: messages between the processes of a job ({@link exs.MessageChannel}), connections of bytes and messages
 * ({@link exs.StreamChannel}), memory that others read and write ({@link exs.Window}), and futures for all that takes its time
 * ({@link exs.Loop}).
 *
 * <p>The library libexs-java.so is found by {@code java.library.path}, or is the file that the system property {@code exs.library} names. It
 * installs no signal handler, and its threads are none of the JVM's.
 */
/* SPDX-License-Identifier: BSD-2-Clause */
package exs;
