// exm_wait, exm_test and those of several requests; exm_peek, exm_cancel, exm_free.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <utility>
#include <vector>

#include "src/message/arguments.h"
#include "src/message/ep.h"

namespace exs {
namespace {

bool has_ended(const Request& request) noexcept {
  return request.state.load(std::memory_order_acquire) == Request::State::kEnded;
}

// The status of a null request.
void tell_nothing(exm_status_t* status) noexcept {
  if (status == nullptr) return;
  *status = {};
  status->source = EXM_ANY_SOURCE;
  status->tag = EXM_ANY_TAG;
}

// The requests of a call; null ones stay null.
class Requests {
 public:
  static Result<Requests> find(Endpoint& endpoint, exm_request_t* handles, int count) {
    if (count < 0) return failure(refuse(EINVAL, "{} requests", count));
    if (count > 0 && handles == nullptr) return failure(null_argument());
    Requests found(endpoint, handles);
    found.requests_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      Request* const request = handles[i] == 0 ? nullptr : find_waitable(endpoint, handles[i]);
      if (handles[i] != 0 && request == nullptr) return failure(no_such_request(handles[i]));
      found.requests_.push_back(request);
      if (request != nullptr) ++found.real_;
    }
    return found;
  }

  [[nodiscard]] std::size_t count() const noexcept { return requests_.size(); }
  [[nodiscard]] std::size_t real() const noexcept { return real_; }
  // Waits until so many of those that are real have ended.
  Status wait(std::size_t enough, std::int64_t timeout_ns) {
    return endpoint_->wait(requests_, count() - real_ + enough, timeout_ns);
  }
  [[nodiscard]] bool is_real(std::size_t index) const noexcept { return requests_[index] != nullptr; }
  [[nodiscard]] bool has_ended(std::size_t index) const noexcept {
    return is_real(index) && exs::has_ended(*requests_[index]);
  }
  // The errno of one that has ended, which give_up() gives up.
  int take(std::size_t index, exm_status_t* status) noexcept {
    const int error = Endpoint::take_status(*requests_[index], status, taken_);
    requests_[index] = nullptr;
    handles_[index] = 0;
    --real_;
    return error;
  }
  void give_up() noexcept { endpoint_->give_up(std::exchange(taken_, {})); }

 private:
  Requests(Endpoint& endpoint, exm_request_t* handles) : endpoint_(&endpoint), handles_(handles) {}

  Endpoint* endpoint_;
  exm_request_t* handles_;
  std::vector<Request*> requests_;
  std::size_t real_ = 0;
  RequestChain taken_;
};

Result<int> wait_for_one(Endpoint& endpoint, exm_request_t* handle, exm_status_t* status,
                         std::int64_t timeout_ns) {
  if (handle == nullptr) return failure(null_argument());
  if (*handle == 0) {
    tell_nothing(status);
    return 0;
  }
  Request* const request = find_waitable(endpoint, *handle);
  if (request == nullptr) return failure(no_such_request(*handle));
  if (const Status waited = endpoint.wait({&request, 1}, 1, timeout_ns); !waited.ok()) return failure(waited);
  *handle = 0;
  return api_result(Status(endpoint.take_status(*request, status)));
}

bool is_unfinished(const Result<int>& result) {
  return !result && result.error() == Status(ETIMEDOUT);
}

Result<int> wait_for_any(Endpoint& endpoint, exm_request_t* handles, int count, int* index,
                         exm_status_t* status, std::int64_t timeout_ns) {
  if (index == nullptr) return failure(null_argument());
  *index = EXM_UNDEFINED;
  auto requests = Requests::find(endpoint, handles, count);
  if (!requests) return failure(requests.error());
  if (requests->real() == 0) {
    tell_nothing(status);
    return 0;
  }
  if (const Status waited = requests->wait(1, timeout_ns); !waited.ok()) return failure(waited);
  std::size_t first = 0;
  while (!requests->has_ended(first)) ++first;
  *index = static_cast<int>(first);
  const int error = requests->take(first, status);
  requests->give_up();
  return api_result(Status(error));
}

Result<int> wait_for_some(Endpoint& endpoint, exm_request_t* handles, int count, int* indices,
                          exm_status_t* statuses, std::int64_t timeout_ns) {
  auto requests = Requests::find(endpoint, handles, count);
  if (!requests) return failure(requests.error());
  if (requests->real() == 0) return 0;
  if (indices == nullptr) return failure(null_argument());
  if (const Status waited = requests->wait(1, timeout_ns); !waited.ok()) return failure(waited);
  int told = 0;
  for (std::size_t i = 0; i < requests->count(); ++i) {
    if (!requests->has_ended(i)) continue;
    requests->take(i, statuses == nullptr ? nullptr : statuses + told);
    indices[told++] = static_cast<int>(i);
  }
  requests->give_up();
  return told;
}

// Returns the statuses of the ended requests, and the first error among them.
int take_ended(Requests& requests, exm_status_t* statuses) {
  int first_error = 0;
  for (std::size_t i = 0; i < requests.count(); ++i) {
    exm_status_t* const status = statuses == nullptr ? nullptr : statuses + i;
    if (!requests.is_real(i)) {
      tell_nothing(status);
    } else if (requests.has_ended(i)) {
      const int error = requests.take(i, status);
      if (first_error == 0) first_error = error;
    }
  }
  requests.give_up();
  return first_error;
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_wait(exm_ep_t ep, exm_request_t* request, exm_status_t* status, int64_t timeout_ns) {
  return message_call(
      ep, [&](Endpoint& endpoint) { return wait_for_one(endpoint, request, status, timeout_ns); });
}

int exm_test(exm_ep_t ep, exm_request_t* request, exm_status_t* status) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    const auto ended = wait_for_one(endpoint, request, status, 0);
    if (is_unfinished(ended) && request != nullptr && *request != 0) return 0;
    if (!ended) return ended;
    return 1;
  });
}

int exm_waitany(exm_ep_t ep, exm_request_t* requests, int count, int* index, exm_status_t* status,
                int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) {
    return wait_for_any(endpoint, requests, count, index, status, timeout_ns);
  });
}

int exm_testany(exm_ep_t ep, exm_request_t* requests, int count, int* index, exm_status_t* status) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    const auto ended = wait_for_any(endpoint, requests, count, index, status, 0);
    if (is_unfinished(ended) && *index == EXM_UNDEFINED) return 0;
    if (!ended) return ended;
    return 1;
  });
}

int exm_waitsome(exm_ep_t ep, exm_request_t* requests, int count, int* indices, exm_status_t* statuses,
                 int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) {
    return wait_for_some(endpoint, requests, count, indices, statuses, timeout_ns);
  });
}

int exm_testsome(exm_ep_t ep, exm_request_t* requests, int count, int* indices, exm_status_t* statuses) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    const auto ended = wait_for_some(endpoint, requests, count, indices, statuses, 0);
    if (is_unfinished(ended)) return 0;
    return ended;
  });
}

int exm_waitall(exm_ep_t ep, exm_request_t* requests, int count, exm_status_t* statuses, int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    auto found = Requests::find(endpoint, requests, count);
    if (!found) return failure(found.error());
    const Status waited = found->wait(found->real(), timeout_ns);
    const int error = take_ended(*found, statuses);
    return api_result(waited.ok() ? Status(error) : waited);
  });
}

int exm_testall(exm_ep_t ep, exm_request_t* requests, int count, exm_status_t* statuses) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    auto found = Requests::find(endpoint, requests, count);
    if (!found) return failure(found.error());
    const Status waited = found->wait(found->real(), 0);
    if (waited == Status(ETIMEDOUT)) return 0;
    if (!waited.ok()) return failure(waited);
    if (const int error = take_ended(*found, statuses); error != 0) return failure(error);
    return 1;
  });
}

int exm_peek(exm_ep_t ep, exm_request_t* request, int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    return api_result(endpoint.peek(request, timeout_ns));
  });
}

int exm_cancel(exm_ep_t ep, exm_request_t request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == 0) return 0;
    Request* const found = endpoint.find(request);
    if (found == nullptr) return failure(no_such_request(request));
    endpoint.cancel(*found);
    return 0;
  });
}

int exm_free(exm_ep_t ep, exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    if (*request == 0) return 0;
    Request* const found = find_waitable(endpoint, *request);
    if (found == nullptr) return failure(no_such_request(*request));
    endpoint.let_go(*found);
    *request = 0;
    return 0;
  });
}
