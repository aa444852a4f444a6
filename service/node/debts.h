// Acknowledgements that are due: each debtor has accepted something and has not acknowledged it. Thread: holder of the node's lock.
//
// Design notes
//  1. One acknowledgement covers all that arrived in one step.
//  2. A request is usually answered soon, and its reply acknowledges the request. The receiver of a reply often sends the next request,
//     which acknowledges the reply. So these get an acknowledgement of their own only if nothing has left by the next wait.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

namespace exs::svc {

class Debtor {
 public:
  // Acknowledges all that is still due.
  virtual void acknowledge() = 0;
  bool is_due = false;        // listed for this step
  bool is_due_later = false;  // listed for the next wait

 protected:
  ~Debtor() = default;
};

class Debts {
 public:
  void note(Debtor& debtor) { add(due_, debtor, debtor.is_due); }
  void note_for_later(Debtor& debtor) { add(due_later_, debtor, debtor.is_due_later); }
  void forget(Debtor& debtor) {
    if (debtor.is_due) std::erase(due_, &debtor);
    if (debtor.is_due_later) std::erase(due_later_, &debtor);
    debtor.is_due = debtor.is_due_later = false;
  }
  void pay() { pay(due_, &Debtor::is_due); }
  // Called before the program waits.
  void pay_later_ones() { pay(due_later_, &Debtor::is_due_later); }

 private:
  static void add(std::vector<Debtor*>& list, Debtor& debtor, bool& is_noted) {
    if (is_noted) return;
    list.push_back(&debtor);
    is_noted = true;
  }
  static void pay(std::vector<Debtor*>& list, bool Debtor::*is_noted) {
    while (!list.empty()) {
      Debtor* const debtor = list.back();
      list.pop_back();
      debtor->*is_noted = false;
      debtor->acknowledge();
    }
  }
  std::vector<Debtor*> due_;
  std::vector<Debtor*> due_later_;
};

}  // namespace exs::svc
