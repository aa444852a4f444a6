/** A device for message passing in Java, over {@link exs.MessageChannel}: {@link exs.xdev.Device}. */
package exs.xdev;
