// An endpoint of the provider, for rounds in which a call fails. Each call of libfabric works, or is refused with an error that is
// recorded. Each accepted transfer completes once. Whatever breaks these rules goes to violation().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

namespace exs::test {

// What a round reports to its parent.
struct RoundReport {
  bool has_failed = false;  // the call or the allocation that was to fail
  char violation[200] = "";
};
extern RoundReport* round_report;
// Keeps the first one.
void violation(const std::string& what);

// Makes a call whose allocations are counted.
long counted(const std::function<long()>& call);

enum class TransferKind : std::uint8_t { kSend, kReceive, kMultiReceive };

class StruckEnd {
 public:
  static constexpr std::size_t kNameBytes = 32;

  StruckEnd() = default;
  StruckEnd(const StruckEnd&) = delete;
  StruckEnd& operator=(const StruckEnd&) = delete;

  // False: a call was refused. What is open then is closed by close().
  bool open();
  void close();
  // FI_ADDR_NOTAVAIL: refused.
  fi_addr_t insert(const StruckEnd& peer);

  // Posts a transfer, which the call accepts or refuses. Returns its number, or -1.
  int post(TransferKind kind, const std::function<long(void* context)>& call);
  // Posts a transfer whose context is that of one that has completed.
  int post_again(int transfer, const std::function<long()>& call);
  // Takes completions until no transfer is open, for at most `looks` looks of 20 ms.
  void await_all(int looks);
  // Cancels the receives that are open.
  void cancel_receives();
  [[nodiscard]] std::size_t open_transfers() const;
  [[nodiscard]] std::size_t open_sends() const;
  [[nodiscard]] bool has_succeeded(int transfer) const;

  fid_ep* ep = nullptr;

 private:
  struct PostedTransfer {
    TransferKind kind = TransferKind::kSend;
    bool is_open = false;
    bool has_succeeded = false;
  };
  static constexpr std::size_t kTransfersMax = 32;

  // Makes a call that opens or binds something.
  bool works(const char* what, const std::function<long()>& call);
  void note_completion(void* context, std::uint64_t flags, int error);
  template <typename Fid>
  void close_one(const char* what, Fid*& fid);

  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* av_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_cntr* counter_ = nullptr;
  fid_eq* eq_ = nullptr;
  fid_mr* memory_ = nullptr;
  std::array<PostedTransfer, kTransfersMax> transfers_{};
  std::size_t used_ = 0;
};

}  // namespace exs::test
