/** A device for message passing in Java, over {@link exs.MessageChannel}: {@link exs.xdev.Device}. */
/* SPDX-License-Identifier: BSD-2-Clause */
package exs.xdev;
