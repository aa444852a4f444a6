/**
 * Services: messages and requests to a name instead of a place (exs/service.h, exs-service(7)).
 *
 * <pre>
 * try (ServiceNode node = ServiceNode.open()) {
 *   Service echo = node.service(ServiceKey.create(), new Service.Handler() {
 *     &#64;Override
 *     public void request(Request request) throws ExsException {
 *       request.reply(0, request.items(), List.of(), false);
 *       request.release();
 *     }
 *   }).open();
 *   Peer peer = node.peer(echo.id()).open();
 *   Reply reply = peer.request(List.of(ByteBuffer.wrap(text)), List.of(), RequestOptions.NONE).reply().get();
 * }
 * </pre>
 *
 * <p>The classes load {@code libexs-java-service.so} when the first of them is used, so programs without services need neither it nor
 * libexs-service.
 */
/* SPDX-License-Identifier: BSD-2-Clause */
package exs.service;
