// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/shown_connection.h"

#include "base/socket_address.h"
#include "src/provider/reason.h"
#include "tools/top/names.h"

namespace top {

std::string ShownConnection::carrier() const {
  return printable(record.carrier);
}

std::string ShownConnection::label() const {
  return printable(record.label);
}

std::string ShownConnection::kind() const {
  const std::string called = label();
  return called.empty() ? name_of(record.kind) : called;
}

std::string ShownConnection::ours() const {
  return exs::text_of(whole(record.ours));
}

std::string ShownConnection::peer() const {
  return exs::text_of(whole(record.peers));
}

std::string ShownConnection::refused() const {
  return printable(record.refused);
}

std::string ShownConnection::fact() const {
  return lane ? lane->why.fact : printable(record.fact);
}

std::string ShownConnection::reason() const {
  return lane ? lane->why.code : exs::reason_name(static_cast<exs::ReasonCode>(record.reason));
}

std::string ShownConnection::cure() const {
  return lane ? lane->why.cure : exs::reason_cure(static_cast<exs::ReasonCode>(record.reason));
}

}  // namespace top
