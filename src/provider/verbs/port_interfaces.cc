#include "src/provider/verbs/port_interfaces.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "src/base/kernel.h"
#include "src/base/unique_fd.h"

namespace exs::verbs {
namespace {

// The attributes of one answer that are asked for here.
struct Answer {
  std::uint32_t device_index = 0;
  std::string device;
  std::uint32_t port = 0;
  std::string interface_name;
};

using Bytes = std::span<const std::byte>;

std::string text_of(Bytes value) {
  const auto* begin = reinterpret_cast<const char*>(value.data());
  return {begin, ::strnlen(begin, value.size())};
}

std::uint32_t number_of(Bytes value) {
  std::uint32_t number = 0;
  if (value.size() >= sizeof number) std::memcpy(&number, value.data(), sizeof number);
  return number;
}

Answer answer_of(Bytes attributes) {
  Answer answer;
  while (attributes.size() >= NLA_HDRLEN) {
    nlattr head{};
    std::memcpy(&head, attributes.data(), sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > attributes.size()) break;
    const Bytes value = attributes.subspan(NLA_HDRLEN, head.nla_len - std::size_t{NLA_HDRLEN});
    switch (head.nla_type & NLA_TYPE_MASK) {
      case RDMA_NLDEV_ATTR_DEV_INDEX: answer.device_index = number_of(value); break;
      case RDMA_NLDEV_ATTR_DEV_NAME: answer.device = text_of(value); break;
      case RDMA_NLDEV_ATTR_PORT_INDEX: answer.port = number_of(value); break;
      case RDMA_NLDEV_ATTR_NDEV_NAME: answer.interface_name = text_of(value); break;
      default: break;
    }
    attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), attributes.size()));
  }
  return answer;
}

// One question that is answered with a list.
class Question {
 public:
  explicit Question(std::uint16_t command) {
    head_.nlmsg_len = NLMSG_HDRLEN;
    head_.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    head_.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP;
  }
  void about_device(std::uint32_t index) {
    attribute_.head = {sizeof attribute_, RDMA_NLDEV_ATTR_DEV_INDEX};
    attribute_.index = index;
    head_.nlmsg_len += sizeof attribute_;
  }
  // False: no kernel with RDMA hears it.
  bool ask(const UniqueFd& socket) const {
    std::array<std::byte, sizeof head_ + sizeof attribute_> message{};
    std::memcpy(message.data(), &head_, sizeof head_);
    std::memcpy(message.data() + sizeof head_, &attribute_, sizeof attribute_);
    return kernel::send(socket.get(), message.data(), head_.nlmsg_len, 0) ==
           static_cast<ssize_t>(head_.nlmsg_len);
  }

 private:
  nlmsghdr head_{};
  struct {
    nlattr head;
    std::uint32_t index;
  } attribute_{};
};

// The messages of one datagram. False: the list is at its end, or broken.
bool read_messages(Bytes datagram, const std::function<void(const Answer&)>& take) {
  while (datagram.size() >= NLMSG_HDRLEN) {
    nlmsghdr head{};
    std::memcpy(&head, datagram.data(), sizeof head);
    if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > datagram.size()) return false;
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) return false;
    take(answer_of(datagram.subspan(NLMSG_HDRLEN, head.nlmsg_len - std::size_t{NLMSG_HDRLEN})));
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), datagram.size()));
  }
  return true;
}

void for_each_answer(const UniqueFd& socket, const Question& question,
                     const std::function<void(const Answer&)>& take) {
  if (!question.ask(socket)) return;
  std::array<std::byte, 16384> datagram{};
  for (;;) {
    const ssize_t got = kernel::recv(socket.get(), datagram.data(), datagram.size(), 0);
    if (got <= 0 || !read_messages(Bytes(datagram).first(static_cast<std::size_t>(got)), take)) return;
  }
}

}  // namespace

std::map<std::pair<std::string, unsigned>, std::string> port_interfaces() {
  std::map<std::pair<std::string, unsigned>, std::string> interfaces;
  const UniqueFd socket(kernel::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
  const timeval patience{1, 0};  // the kernel answers at once
  if (!socket.valid() ||
      kernel::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
    return interfaces;
  }
  std::map<std::uint32_t, std::string> devices;
  for_each_answer(socket, Question(RDMA_NLDEV_CMD_GET),
                  [&](const Answer& answer) { devices[answer.device_index] = answer.device; });
  for (const auto& [index, name] : devices) {
    Question ports(RDMA_NLDEV_CMD_PORT_GET);
    ports.about_device(index);
    for_each_answer(socket, ports, [&, &device = name](const Answer& answer) {
      if (!answer.interface_name.empty()) interfaces[{device, answer.port}] = answer.interface_name;
    });
  }
  return interfaces;
}

}  // namespace exs::verbs
