// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/port_interfaces.h"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/kernel.h"
#include "base/unique_fd.h"

namespace exs::verbs {
namespace {

// The attributes of one answer that are asked for here.
struct Answer {
  std::uint32_t device_index = 0;
  std::string device;
  std::uint32_t port = 0;
  std::string interface_name;
};
using TakeAnswer = std::function<void(const Answer&)>;

void read_number(const nlattr* attribute, std::uint32_t& into) {
  if (::mnl_attr_validate(attribute, MNL_TYPE_U32) == 0) into = ::mnl_attr_get_u32(attribute);
}

void read_text(const nlattr* attribute, std::string& into) {
  if (::mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0) into = ::mnl_attr_get_str(attribute);
}

int read_attribute(const nlattr* attribute, void* into) {
  auto& answer = *static_cast<Answer*>(into);
  switch (::mnl_attr_get_type(attribute)) {
    case RDMA_NLDEV_ATTR_DEV_INDEX: read_number(attribute, answer.device_index); break;
    case RDMA_NLDEV_ATTR_DEV_NAME: read_text(attribute, answer.device); break;
    case RDMA_NLDEV_ATTR_PORT_INDEX: read_number(attribute, answer.port); break;
    case RDMA_NLDEV_ATTR_NDEV_NAME: read_text(attribute, answer.interface_name); break;
    default: break;
  }
  return MNL_CB_OK;
}

int read_answer(const nlmsghdr* message, void* take) {
  Answer answer;
  ::mnl_attr_parse(message, 0, read_attribute, &answer);
  (*static_cast<const TakeAnswer*>(take))(answer);
  return MNL_CB_OK;
}

// A question with a list as its answer.
class Question {
 public:
  explicit Question(std::uint16_t command) : head_(::mnl_nlmsg_put_header(message_.data())) {
    head_->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    head_->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP;
  }
  void about_device(std::uint32_t index) { ::mnl_attr_put_u32(head_, RDMA_NLDEV_ATTR_DEV_INDEX, index); }

  // Nothing is taken from a kernel without RDMA, and nothing more from one that fails.
  void ask(const UniqueFd& socket, TakeAnswer take) const {
    if (kernel::send(socket.get(), message_.data(), head_->nlmsg_len, 0) !=
        static_cast<ssize_t>(head_->nlmsg_len)) {
      return;
    }
    alignas(nlmsghdr) std::array<std::byte, 16384> datagram{};
    int state = MNL_CB_OK;
    while (state == MNL_CB_OK) {
      const ssize_t got = kernel::recv(socket.get(), datagram.data(), datagram.size(), 0);
      if (got <= 0) return;
      state = ::mnl_cb_run(datagram.data(), static_cast<std::size_t>(got), 0, 0, read_answer, &take);
    }
  }

 private:
  alignas(nlmsghdr) std::array<std::byte, 64> message_{};
  nlmsghdr* const head_;
};

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
  Question(RDMA_NLDEV_CMD_GET).ask(socket, [&](const Answer& answer) {
    devices[answer.device_index] = answer.device;
  });
  for (const auto& [index, name] : devices) {
    Question ports(RDMA_NLDEV_CMD_PORT_GET);
    ports.about_device(index);
    ports.ask(socket, [&, &device = name](const Answer& answer) {
      if (!answer.interface_name.empty()) interfaces[{device, answer.port}] = answer.interface_name;
    });
  }
  return interfaces;
}

}  // namespace exs::verbs
