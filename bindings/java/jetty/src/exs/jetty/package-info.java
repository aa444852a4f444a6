/**
 * Jetty over exs: a connector for its server, and content that peers read in place.
 *
 * <p>All of HTTP works as over TCP: {@link exs.jetty.ExsConnector} takes the connection factories of Jetty. With {@link
 * exs.jetty.ExsContentFactory} a file of the cache is read by the peer from the memory of the cache, without a copy. {@link
 * exs.jetty.ServiceConnector} serves requests that are messages to a service, which clients know by its name alone.
 */
/* SPDX-License-Identifier: BSD-2-Clause */
package exs.jetty;
