// The calls of exs/service.h, and checks of the structures that Java knows.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/service.h>
#include <exs_service_CallFrame.h>
#include <exs_service_Capability.h>
#include <exs_service_Contents.h>
#include <exs_service_Event.h>
#include <exs_service_Native.h>
#include <exs_service_Options.h>
#include <exs_service_ServiceStats.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

#define EXS_SAME_OFFSET(name, field) \
  static_assert(offsetof(exs_svc_event_t, field) == exs_service_Event_##name##_AT)
EXS_SAME_OFFSET(TYPE, type);
EXS_SAME_OFFSET(ERROR, error);
EXS_SAME_OFFSET(COUNT, count);
EXS_SAME_OFFSET(ELAPSED, elapsed_ns);
EXS_SAME_OFFSET(HANDLE, handle);
EXS_SAME_OFFSET(MESSAGE, message);
EXS_SAME_OFFSET(STATUS, status);
EXS_SAME_OFFSET(FLAGS, flags);
#undef EXS_SAME_OFFSET
static_assert(sizeof(exs_svc_event_t) == exs_service_Event_BYTES);

#define EXS_SAME_TYPE(name) static_assert(EXS_SVC_EVT_##name == exs_service_Event_##name)
EXS_SAME_TYPE(OPEN);
EXS_SAME_TYPE(MESSAGE);
EXS_SAME_TYPE(DROPPED);
EXS_SAME_TYPE(RESTART);
EXS_SAME_TYPE(LOST);
EXS_SAME_TYPE(PONG);
EXS_SAME_TYPE(SENT);
EXS_SAME_TYPE(REQUEST);
EXS_SAME_TYPE(REPLY);
EXS_SAME_TYPE(SUSPENDED);
EXS_SAME_TYPE(OVERTAKEN);
EXS_SAME_TYPE(STATS);
#undef EXS_SAME_TYPE
static_assert(EXS_SVC_MORE == exs_service_Event_MORE);

#define EXS_SAME_OFFSET(name, field) \
  static_assert(offsetof(exs_svc_node_options_t, field) == exs_service_Options_NODE_##name##_AT)
EXS_SAME_OFFSET(FIND, find_ns);
EXS_SAME_OFFSET(LINKS, links_max);
EXS_SAME_OFFSET(LINKS_EACH, links_each_max);
EXS_SAME_OFFSET(FLOWS, flows_max);
EXS_SAME_OFFSET(MEMORY, memory_max);
#undef EXS_SAME_OFFSET
static_assert(sizeof(exs_svc_node_options_t) == exs_service_Options_NODE_BYTES);

#define EXS_SAME_OFFSET(name, field) \
  static_assert(offsetof(exs_svc_options_t, field) == exs_service_Options_##name##_AT)
EXS_SAME_OFFSET(ONLY_WITH_CAPABILITY, only_with_cap);
EXS_SAME_OFFSET(SERIAL_MIN, serial_min);
EXS_SAME_OFFSET(MAILBOX, mailbox_max);
EXS_SAME_OFFSET(MAILBOX_EACH, mailbox_each_max);
EXS_SAME_OFFSET(MEMORY, memory_max);
EXS_SAME_OFFSET(MEMORY_EACH, memory_each_max);
EXS_SAME_OFFSET(FLAGS, flags);
#undef EXS_SAME_OFFSET
static_assert(sizeof(exs_svc_options_t) == exs_service_Options_BYTES);
static_assert(EXS_SVC_FENCED == exs_service_Options_FENCED);

#define EXS_SAME_OFFSET(name, field) \
  static_assert(offsetof(exs_svc_stats_t, field) == exs_service_ServiceStats_##name##_AT)
EXS_SAME_OFFSET(OPEN, open_ns);
EXS_SAME_OFFSET(MESSAGES, messages);
EXS_SAME_OFFSET(REPLIES, replies);
EXS_SAME_OFFSET(MAILBOX, mailbox);
EXS_SAME_OFFSET(REQUESTS_OPEN, requests_open);
EXS_SAME_OFFSET(FLOWS, flows);
EXS_SAME_OFFSET(WINDOWS_FREE, windows_free);
#undef EXS_SAME_OFFSET
static_assert(sizeof(exs_svc_stats_t) == exs_service_ServiceStats_BYTES);

static_assert(EXS_SVC_ITEMS_MAX == exs_service_CallFrame_ITEMS_MAX &&
              EXS_SVC_SHORT_MAX == exs_service_CallFrame_SHORT_MAX);
static_assert(sizeof(exs_svc_item_t) == exs_service_CallFrame_ITEM_BYTES &&
              offsetof(exs_svc_item_t, length) == 8);
static_assert(sizeof(exs_iovec_t) == exs_service_CallFrame_PIECE_BYTES &&
              offsetof(exs_iovec_t, iov_len) == 8);
static_assert(sizeof(exs_svc_cap_t) == exs_service_Capability_BYTES);

// The layout of a message for Java.
struct Contents {
  exs_svc_id_t from;
  std::uint32_t items_count;
  std::uint32_t longs_count;
  std::int64_t limit_ns;
  std::array<std::uint64_t, EXS_SVC_ITEMS_MAX> lengths;
  std::array<exs_svc_item_t, EXS_SVC_ITEMS_MAX> longs;
  std::array<std::uint8_t, EXS_SVC_SHORT_MAX> data;
};
static_assert(offsetof(Contents, from) == exs_service_Contents_FROM_AT &&
              offsetof(Contents, items_count) == exs_service_Contents_ITEMS_COUNT_AT &&
              offsetof(Contents, longs_count) == exs_service_Contents_LONGS_COUNT_AT &&
              offsetof(Contents, limit_ns) == exs_service_Contents_LIMIT_AT &&
              offsetof(Contents, lengths) == exs_service_Contents_LENGTHS_AT &&
              offsetof(Contents, longs) == exs_service_Contents_LONGS_AT &&
              offsetof(Contents, data) == exs_service_Contents_DATA_AT &&
              sizeof(Contents) == exs_service_Contents_BYTES);

template <typename T>
T* pointer(jlong address) noexcept {
  return reinterpret_cast<T*>(address);
}

jint result(int outcome) noexcept {
  return outcome < 0 ? -errno : outcome;
}

jlong result(const void* object) noexcept {
  return object == nullptr ? -errno : reinterpret_cast<jlong>(object);
}

// Java accepts only ASCII here; paths of files may not be.
jstring text_of(JNIEnv* env, std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) >= 0x80) letter = '?';
  }
  return env->NewStringUTF(text.c_str());
}

// A text of Java, which ends with a zero, or NULL.
class Text {
 public:
  Text(JNIEnv* env, jbyteArray array) {
    if (array == nullptr) return;
    bytes_.resize(static_cast<std::size_t>(env->GetArrayLength(array)));
    env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes_.size()), bytes_.data());
  }
  [[nodiscard]] const char* get() const noexcept {
    return bytes_.empty() ? nullptr : reinterpret_cast<const char*>(bytes_.data());
  }

 private:
  std::vector<jbyte> bytes_;
};

template <typename Bytes>
Bytes read_bytes(JNIEnv* env, jbyteArray array) {
  Bytes bytes{};
  env->GetByteArrayRegion(array, 0, sizeof bytes, reinterpret_cast<jbyte*>(&bytes));
  return bytes;
}

template <typename Bytes>
void write_bytes(JNIEnv* env, jbyteArray array, const Bytes& bytes) {
  env->SetByteArrayRegion(array, 0, sizeof bytes, reinterpret_cast<const jbyte*>(&bytes));
}

}  // namespace

jstring Java_exs_service_Native_errorText(JNIEnv* env, jclass) {
  return text_of(env, exs_svc_errtext());
}

jstring Java_exs_service_Native_describe(JNIEnv* env, jclass, jint error) {
  return text_of(env, std::strerror(error));
}

jlong Java_exs_service_Native_address(JNIEnv* env, jclass, jobject buffer) {
  return reinterpret_cast<jlong>(env->GetDirectBufferAddress(buffer));
}

void Java_exs_service_Native_copy(JNIEnv* env, jclass, jlong from, jobject into, jint bytes) {
  if (bytes > 0)
    std::memcpy(env->GetDirectBufferAddress(into), pointer<void>(from), static_cast<std::size_t>(bytes));
}

// ---------------------------------------------------------------- names

jlong Java_exs_service_Native_createKey(JNIEnv*, jclass) {
  return result(exs_svc_key_create());
}

jlong Java_exs_service_Native_loadKey(JNIEnv* env, jclass, jbyteArray path) {
  return result(exs_svc_key_load(Text(env, path).get()));
}

jint Java_exs_service_Native_storeKey(JNIEnv* env, jclass, jlong key, jbyteArray path) {
  return result(exs_svc_key_store(pointer<exs_svc_key_t>(key), Text(env, path).get()));
}

void Java_exs_service_Native_freeKey(JNIEnv*, jclass, jlong key) {
  exs_svc_key_free(pointer<exs_svc_key_t>(key));
}

void Java_exs_service_Native_keyId(JNIEnv* env, jclass, jlong key, jbyteArray to) {
  exs_svc_id_t id{};
  exs_svc_key_id(pointer<exs_svc_key_t>(key), &id);
  write_bytes(env, to, id);
}

jint Java_exs_service_Native_find(JNIEnv* env, jclass, jbyteArray names, jbyteArray name, jbyteArray to) {
  exs_svc_id_t id{};
  const jint outcome = result(exs_svc_find(Text(env, names).get(), Text(env, name).get(), &id));
  write_bytes(env, to, id);
  return outcome;
}

jint Java_exs_service_Native_parseId(JNIEnv* env, jclass, jbyteArray text, jbyteArray to) {
  exs_svc_id_t id{};
  const jint outcome = result(exs_svc_id_parse(Text(env, text).get(), &id));
  write_bytes(env, to, id);
  return outcome;
}

jstring Java_exs_service_Native_idText(JNIEnv* env, jclass, jbyteArray from) {
  const auto id = read_bytes<exs_svc_id_t>(env, from);
  std::array<char, EXS_SVC_ID_TEXT> text{};
  return exs_svc_id_text(&id, text.data()) == 0 ? env->NewStringUTF(text.data()) : nullptr;
}

jint Java_exs_service_Native_makeCapability(JNIEnv* env, jclass, jlong key, jint rights, jint serial,
                                            jlong expires_ms, jbyteArray to) {
  exs_svc_cap_t capability{};
  const jint outcome =
      result(exs_svc_cap_make(pointer<exs_svc_key_t>(key), static_cast<std::uint32_t>(rights),
                              static_cast<std::uint32_t>(serial), expires_ms, &capability));
  write_bytes(env, to, capability);
  return outcome;
}

jint Java_exs_service_Native_parseCapability(JNIEnv* env, jclass, jbyteArray text, jbyteArray to) {
  exs_svc_cap_t capability{};
  const jint outcome = result(exs_svc_cap_parse(Text(env, text).get(), &capability));
  write_bytes(env, to, capability);
  return outcome;
}

jstring Java_exs_service_Native_capabilityText(JNIEnv* env, jclass, jbyteArray from) {
  const auto capability = read_bytes<exs_svc_cap_t>(env, from);
  std::array<char, EXS_SVC_CAP_TEXT> text{};
  return exs_svc_cap_text(&capability, text.data()) == 0 ? env->NewStringUTF(text.data()) : nullptr;
}

// ---------------------------------------------------------------- nodes, services, peers

jlong Java_exs_service_Native_openNode(JNIEnv* env, jclass, jbyteArray numbers, jbyteArray listen,
                                       jbyteArray names, jbyteArray multicast, jbyteArray directory) {
  const Text listen_text(env, listen);
  const Text names_text(env, names);
  const Text multicast_text(env, multicast);
  const Text directory_text(env, directory);
  auto options = read_bytes<exs_svc_node_options_t>(env, numbers);
  options.struct_bytes = sizeof options;
  options.listen = listen_text.get();
  options.names = names_text.get();
  options.multicast = multicast_text.get();
  options.directory = directory_text.get();
  return result(exs_svc_node_open(&options));
}

void Java_exs_service_Native_closeNode(JNIEnv*, jclass, jlong node) {
  exs_svc_node_close(pointer<exs_svc_node_t>(node));
}

jlong Java_exs_service_Native_open(JNIEnv* env, jclass, jlong node, jlong key, jbyteArray given,
                                   jlong handle) {
  auto options = read_bytes<exs_svc_options_t>(env, given);
  options.struct_bytes = sizeof options;
  return result(exs_svc_open(pointer<exs_svc_node_t>(node), pointer<exs_svc_key_t>(key), &options,
                             pointer<void>(handle)));
}

void Java_exs_service_Native_close(JNIEnv*, jclass, jlong service) {
  exs_svc_close(pointer<exs_svc_t>(service));
}

jint Java_exs_service_Native_addWindow(JNIEnv*, jclass, jlong service, jlong address, jlong bytes,
                                       jint region) {
  return result(exs_svc_window(pointer<exs_svc_t>(service), pointer<void>(address),
                               static_cast<std::size_t>(bytes), static_cast<exs_mhandle_t>(region)));
}

jlong Java_exs_service_Native_openPeer(JNIEnv* env, jclass, jlong node, jlong from, jbyteArray to,
                                       jbyteArray capability, jlong handle) {
  const auto id = read_bytes<exs_svc_id_t>(env, to);
  exs_svc_cap_t read{};
  if (capability != nullptr) read = read_bytes<exs_svc_cap_t>(env, capability);
  return result(exs_svc_peer_open(pointer<exs_svc_node_t>(node), pointer<exs_svc_t>(from), &id,
                                  capability == nullptr ? nullptr : &read, pointer<void>(handle)));
}

void Java_exs_service_Native_closePeer(JNIEnv*, jclass, jlong peer) {
  exs_svc_peer_close(pointer<exs_svc_peer_t>(peer));
}

jint Java_exs_service_Native_ping(JNIEnv*, jclass, jlong peer) {
  return result(exs_svc_ping(pointer<exs_svc_peer_t>(peer)));
}

jint Java_exs_service_Native_stats(JNIEnv*, jclass, jlong peer) {
  return result(exs_svc_stats(pointer<exs_svc_peer_t>(peer)));
}

// ---------------------------------------------------------------- messages

jint Java_exs_service_Native_sendShort(JNIEnv*, jclass, jlong peer, jlong items, jint count) {
  return result(exs_svc_send_short(pointer<exs_svc_peer_t>(peer), pointer<exs_svc_item_t>(items), count));
}

jint Java_exs_service_Native_sendLong(JNIEnv*, jclass, jlong peer, jlong items, jint count, jlong longs,
                                      jint longs_count, jlong handle) {
  return result(exs_svc_send_long(pointer<exs_svc_peer_t>(peer), pointer<exs_svc_item_t>(items), count,
                                  pointer<exs_iovec_t>(longs), longs_count, pointer<void>(handle)));
}

jint Java_exs_service_Native_request(JNIEnv*, jclass, jlong peer, jlong items, jint count, jlong longs,
                                     jint longs_count, jlong limit_ns, jint flags, jlong returns,
                                     jint returns_count, jlong handle) {
  exs_svc_request_options_t options{};
  options.struct_bytes = sizeof options;
  options.limit_ns = limit_ns;
  options.flags = static_cast<std::uint32_t>(flags);
  options.returns = pointer<exs_iovec_t>(returns);
  options.returns_count = returns_count;
  return result(exs_svc_request(pointer<exs_svc_peer_t>(peer), pointer<exs_svc_item_t>(items), count,
                                pointer<exs_iovec_t>(longs), longs_count, &options, pointer<void>(handle)));
}

jint Java_exs_service_Native_cancel(JNIEnv*, jclass, jlong peer, jlong handle) {
  return result(exs_svc_cancel(pointer<exs_svc_peer_t>(peer), pointer<void>(handle)));
}

jint Java_exs_service_Native_reply(JNIEnv*, jclass, jlong message, jint status, jlong items, jint count,
                                   jlong longs, jint longs_count, jint flags, jlong handle) {
  return result(exs_svc_reply(pointer<exs_svc_message_t>(message), status, pointer<exs_svc_item_t>(items),
                              count, pointer<exs_iovec_t>(longs), longs_count,
                              static_cast<std::uint32_t>(flags), pointer<void>(handle)));
}

void Java_exs_service_Native_release(JNIEnv*, jclass, jlong message) {
  exs_svc_release(pointer<exs_svc_message_t>(message));
}

void Java_exs_service_Native_read(JNIEnv*, jclass, jlong address, jlong out) {
  const auto* const message = pointer<exs_svc_message_t>(address);
  auto* const contents = pointer<Contents>(out);
  contents->from = message->from;
  contents->items_count = message->items_count;
  contents->longs_count = message->longs_count;
  contents->limit_ns = message->limit_ns;
  std::size_t at = 0;
  for (std::size_t i = 0; i < message->items_count; ++i) {
    const exs_svc_item_t& item = message->items[i];
    contents->lengths[i] = item.length;
    if (item.length > 0) std::memcpy(contents->data.data() + at, item.data, item.length);
    at += item.length;
  }
  for (std::size_t i = 0; i < message->longs_count; ++i) contents->longs[i] = message->longs[i];
}

jint Java_exs_service_Native_await(JNIEnv*, jclass, jlong node, jlong events, jint max, jlong timeout_ns) {
  const int count =
      exs_svc_wait(pointer<exs_svc_node_t>(node), pointer<exs_svc_event_t>(events), max, timeout_ns);
  return count >= 0 ? count : errno == EINTR ? 0 : -errno;
}
