// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fabric/faults/struck_end.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/failing_allocations.h"

namespace exs::test {

RoundReport* round_report = nullptr;

void violation(const std::string& what) {
  if (round_report->violation[0] == '\0')
    std::snprintf(round_report->violation, sizeof round_report->violation, "%s", what.c_str());
}

long counted(const std::function<long()>& call) {
  const CountedCall scope;
  return call();
}

namespace {

std::string words(const char* what, long outcome) {
  return std::string(what) + ": " + fi_strerror(static_cast<int>(-outcome));
}

// The reason has to be a reason: FI_EOTHER is what an exception of no kind that we know becomes.
void check_refusal(const char* what, long outcome) {
  if (outcome == -FI_EOTHER || outcome == -FI_EFAULT) violation(words(what, outcome));
}

constexpr int kReadMs = 20;

}  // namespace

bool StruckEnd::works(const char* what, const std::function<long()>& call) {
  const long outcome = counted(call);
  if (outcome < 0) check_refusal(what, outcome);
  return outcome >= 0;
}

bool StruckEnd::open() {
  fi_info* const hints = fi_allocinfo();
  hints->fabric_attr->prov_name = ::strdup("exs");
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_TAGGED | FI_MULTI_RECV | FI_DIRECTED_RECV;
  const bool is_found =
      works("fi_getinfo", [&] { return fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info_); });
  fi_freeinfo(hints);
  fi_av_attr av_attr{};
  fi_cq_attr cq_attr{};
  cq_attr.format = FI_CQ_FORMAT_TAGGED;
  cq_attr.wait_obj = FI_WAIT_FD;
  fi_cntr_attr counter_attr{};
  counter_attr.wait_obj = FI_WAIT_FD;
  fi_eq_attr eq_attr{};
  eq_attr.wait_obj = FI_WAIT_FD;
  return is_found && works("fi_fabric", [&] { return fi_fabric(info_->fabric_attr, &fabric_, nullptr); }) &&
         works("fi_eq_open", [&] { return fi_eq_open(fabric_, &eq_attr, &eq_, nullptr); }) &&
         works("fi_domain", [&] { return fi_domain(fabric_, info_, &domain_, nullptr); }) &&
         works("fi_mr_reg",
               [&] { return fi_mr_reg(domain_, this, 1, FI_SEND, 0, 0, 0, &memory_, nullptr); }) &&
         works("fi_av_open", [&] { return fi_av_open(domain_, &av_attr, &av_, nullptr); }) &&
         works("fi_cq_open", [&] { return fi_cq_open(domain_, &cq_attr, &cq_, nullptr); }) &&
         works("fi_cntr_open", [&] { return fi_cntr_open(domain_, &counter_attr, &counter_, nullptr); }) &&
         works("fi_endpoint", [&] { return fi_endpoint(domain_, info_, &ep, nullptr); }) &&
         works("fi_ep_bind", [&] { return fi_ep_bind(ep, &av_->fid, 0); }) &&
         works("fi_ep_bind", [&] { return fi_ep_bind(ep, &cq_->fid, FI_TRANSMIT | FI_RECV); }) &&
         works("fi_ep_bind", [&] { return fi_ep_bind(ep, &counter_->fid, FI_SEND); }) &&
         works("fi_enable", [&] { return fi_enable(ep); });
}

template <typename Fid>
void StruckEnd::close_one(const char* what, Fid*& fid) {
  if (fid == nullptr) return;
  const long outcome = counted([&] { return fi_close(&fid->fid); });
  if (outcome != 0) violation(words(what, outcome));
  fid = nullptr;
}

void StruckEnd::close() {
  close_one("fi_close of an endpoint", ep);
  close_one("fi_close of a counter", counter_);
  close_one("fi_close of a queue", cq_);
  close_one("fi_close of addresses", av_);
  close_one("fi_close of memory", memory_);
  close_one("fi_close of a domain", domain_);
  close_one("fi_close of events", eq_);
  close_one("fi_close of a fabric", fabric_);
  if (info_ != nullptr) fi_freeinfo(info_);
  info_ = nullptr;
}

fi_addr_t StruckEnd::insert(const StruckEnd& peer) {
  std::array<std::uint8_t, kNameBytes> name{};
  std::size_t length = name.size();
  if (!works("fi_getname", [&] { return fi_getname(&peer.ep->fid, name.data(), &length); }))
    return FI_ADDR_NOTAVAIL;
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  int error = 0;
  const long inserted =
      counted([&] { return fi_av_insert(av_, name.data(), 1, &address, FI_SYNC_ERR, &error); });
  if (inserted == 1) return address;
  check_refusal("fi_av_insert", inserted < 0 ? inserted : -error);
  if (inserted == 0 && error == FI_EINVAL) violation("fi_av_insert: a good name is refused");
  return FI_ADDR_NOTAVAIL;
}

int StruckEnd::post(TransferKind kind, const std::function<long(void* context)>& call) {
  if (used_ == kTransfersMax) std::abort();
  PostedTransfer& transfer = transfers_[used_++];
  transfer = {kind, true, false};
  const long outcome = counted([&] { return call(&transfer); });
  if (outcome == 0) return static_cast<int>(used_ - 1);
  check_refusal("a transfer", outcome);
  transfer.is_open = false;
  return -1;
}

int StruckEnd::post_again(int transfer, const std::function<long()>& call) {
  PostedTransfer& again = transfers_[static_cast<std::size_t>(transfer)];
  again = {again.kind, true, false};
  const long outcome = counted(call);
  if (outcome == 0) return transfer;
  check_refusal("a transfer", outcome);
  again.is_open = false;
  return -1;
}

void StruckEnd::note_completion(void* context, std::uint64_t flags, int error) {
  auto* const transfer = static_cast<PostedTransfer*>(context);
  const auto* const end = transfers_.data() + used_;
  if (transfer < transfers_.data() || transfer >= end || !transfer->is_open)
    return violation("a completion of nothing that is open");
  if (transfer->kind == TransferKind::kMultiReceive && (flags & FI_MULTI_RECV) == 0) {
    if (error != 0) violation("a buffer of several receives failed, and is not returned");
    return;
  }
  transfer->is_open = false;
  transfer->has_succeeded = error == 0;
}

void StruckEnd::await_all(int looks) {
  for (; looks > 0 && open_transfers() > 0; --looks) {
    fi_cq_tagged_entry entries[4] = {};
    const long count = counted([&] { return fi_cq_sread(cq_, entries, 4, nullptr, kReadMs); });
    for (long i = 0; i < count; ++i) note_completion(entries[i].op_context, entries[i].flags, 0);
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (counted([&] { return fi_cq_readerr(cq_, &error, 0); }) == 1)
        note_completion(error.op_context, error.flags, error.err);
    } else if (count < 0 && count != -FI_EAGAIN && count != -FI_EINTR) {
      violation(words("fi_cq_sread", count));
    }
  }
}

void StruckEnd::cancel_receives() {
  for (std::size_t i = 0; i < used_; ++i) {
    if (!transfers_[i].is_open || transfers_[i].kind == TransferKind::kSend) continue;
    const long outcome = counted([&] { return fi_cancel(&ep->fid, &transfers_[i]); });
    if (outcome != 0 && outcome != -FI_ENOENT) check_refusal("fi_cancel", outcome);
  }
}

std::size_t StruckEnd::open_transfers() const {
  return static_cast<std::size_t>(std::count_if(transfers_.begin(), transfers_.end(),
                                                [](const PostedTransfer& one) { return one.is_open; }));
}

std::size_t StruckEnd::open_sends() const {
  return static_cast<std::size_t>(std::count_if(
      transfers_.begin(), transfers_.end(),
      [](const PostedTransfer& one) { return one.is_open && one.kind == TransferKind::kSend; }));
}

bool StruckEnd::has_succeeded(int transfer) const {
  return transfer >= 0 && transfers_[static_cast<std::size_t>(transfer)].has_succeeded;
}

}  // namespace exs::test
