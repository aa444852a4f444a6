// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import mpi.MPI;

/**
 * IS of the NAS Parallel Benchmarks: the ranks of small integers, by buckets. Each process ranks the keys of some neighbouring buckets,
 * which are chosen so that all have about as many keys.
 */
final class IntegerSort implements Kernel {
  private static final int ITERATIONS = 10;
  private static final int TESTS = 5;
  private static final int[] TEST_INDEX_S = {48427, 17148, 23627, 62548, 4431};
  private static final int[] TEST_RANK_S = {0, 18, 346, 64917, 65463};
  private static final int[] TEST_INDEX_W = {357773, 934767, 875723, 898999, 404505};
  private static final int[] TEST_RANK_W = {1249, 11698, 1039987, 1043896, 1048018};
  private static final int[] TEST_INDEX_A = {2112377, 662041, 5336171, 3642833, 4250760};
  private static final int[] TEST_RANK_A = {104, 17523, 123928, 8288932, 8388264};
  private static final int TAG_BORDER = 3;

  private final char size;
  private final Ranks ranks;
  private final int total;
  private final int maxKey;
  private final int buckets;
  private final int bucketShift;
  private final int[] testIndex;
  private final int[] testRank;

  private final int[] keys;
  private final int[] keysByBucket;
  private int[] arrived = new int[0];
  private int arrivedKeys;
  private int firstKey;      // that this process ranks
  private int[] notAbove;  // by key from firstKey on: number of received keys that are not above it
  private int smallerElsewhere;
  private int passed;

  IntegerSort(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    int totalBits = size == 'S' ? 16 : size == 'W' ? 20 : 23;
    int keyBits = size == 'S' ? 11 : size == 'W' ? 16 : 19;
    int bucketBits = size == 'S' ? 9 : 10;
    total = 1 << totalBits;
    maxKey = 1 << keyBits;
    buckets = 1 << bucketBits;
    bucketShift = keyBits - bucketBits;
    testIndex = size == 'S' ? TEST_INDEX_S : size == 'W' ? TEST_INDEX_W : TEST_INDEX_A;
    testRank = size == 'S' ? TEST_RANK_S : size == 'W' ? TEST_RANK_W : TEST_RANK_A;
    if (!ranks.powerOfTwo() || ranks.count > buckets)
      throw new IllegalArgumentException("is runs on a power of two of ranks, " + buckets + " at most");
    keys = new int[total / ranks.count];
    keysByBucket = new int[keys.length];
  }

  @Override
  public Report run() {
    fill();
    rankKeys(1);   // not timed: code gets compiled, memory touched
    passed = 0;
    long start = ranks.start();
    for (int iteration = 1; iteration <= ITERATIONS; ++iteration) rankKeys(iteration);
    double seconds = ranks.secondsSince(start);
    boolean sorted = sorted();
    int allPassed = (int) ranks.sum(passed);
    return Report.of("is", size, ranks, sorted && allPassed == TESTS * ITERATIONS)
        .put("time_s", seconds)
        .put("rate_mops", (double) total * ITERATIONS / seconds / 1e6)
        .put("tests_passed", allPassed)
        .put("sorted", sorted);
  }

  private void fill() {
    NpbRandom random = new NpbRandom(4L * keys.length * ranks.rank);
    for (int at = 0; at < keys.length; ++at) {
      double sum = random.next();
      sum += random.next();
      sum += random.next();
      sum += random.next();
      keys[at] = (int) (maxKey / 4 * sum);
    }
  }

  private void rankKeys(int iteration) {
    if (ranks.rank == 0) {
      keys[iteration] = iteration;
      keys[iteration + ITERATIONS] = maxKey - iteration;
    }
    int[] mine = new int[buckets + TESTS];   // keys of each bucket, and the keys to be tested
    int[] all = new int[buckets + TESTS];
    countAndSort(mine);
    for (int test = 0; test < TESTS; ++test) {
      int at = testIndex[test] - ranks.rank * keys.length;
      if (at >= 0 && at < keys.length) mine[buckets + test] = keys[at];
    }
    ranks.all.Allreduce(mine, 0, all, 0, mine.length, MPI.INT, MPI.SUM);
    distribute(mine, all);
    count();
    for (int test = 0; test < TESTS; ++test) check(all[buckets + test], test, iteration);
  }

  private void countAndSort(int[] counts) {
    for (int key : keys) ++counts[key >> bucketShift];
    int[] place = new int[buckets];
    for (int bucket = 1; bucket < buckets; ++bucket) place[bucket] = place[bucket - 1] + counts[bucket - 1];
    for (int key : keys) keysByBucket[place[key >> bucketShift]++] = key;
  }

  /** Buckets go to processes in order; a process is full when it and those before it have their share of all keys. */
  private void distribute(int[] mine, int[] all) {
    int[] toSend = new int[ranks.count];
    int firstBucket = 0;
    int endBucket = 0;
    smallerElsewhere = 0;
    long given = 0;
    for (int to = 0, bucket = 0; to < ranks.count; ++to) {
      if (to == ranks.rank) {
        firstBucket = bucket;
        smallerElsewhere = (int) given;
      }
      while (bucket < buckets && (given < (long) (to + 1) * keys.length || to == ranks.count - 1)) {
        given += all[bucket];
        toSend[to] += mine[bucket++];
      }
      if (to == ranks.rank) endBucket = bucket;
    }
    firstKey = firstBucket << bucketShift;
    notAbove = new int[endBucket - firstBucket << bucketShift];
    send(toSend);
  }

  private void send(int[] toSend) {
    int[] toReceive = new int[ranks.count];
    ranks.all.Alltoall(toSend, 0, 1, MPI.INT, toReceive, 0, 1, MPI.INT);
    int[] sendAt = new int[ranks.count];
    int[] receiveAt = new int[ranks.count];
    for (int other = 1; other < ranks.count; ++other) {
      sendAt[other] = sendAt[other - 1] + toSend[other - 1];
      receiveAt[other] = receiveAt[other - 1] + toReceive[other - 1];
    }
    arrivedKeys = receiveAt[ranks.count - 1] + toReceive[ranks.count - 1];
    if (arrived.length < arrivedKeys) arrived = new int[arrivedKeys + arrivedKeys / 4];
    ranks.all.Alltoallv(keysByBucket, 0, toSend, sendAt, MPI.INT, arrived, 0, toReceive, receiveAt, MPI.INT);
  }

  private void count() {
    for (int at = 0; at < arrivedKeys; ++at) ++notAbove[arrived[at] - firstKey];
    for (int at = 1; at < notAbove.length; ++at) notAbove[at] += notAbove[at - 1];
  }

  /** The specification has the ranks of five keys before the first iteration, and how inserted keys move them. */
  private void check(int key, int test, int iteration) {
    int at = key - firstKey;
    if (at < 0 || at >= notAbove.length) return;
    int rank = smallerElsewhere + (at == 0 ? 0 : notAbove[at - 1]);
    int expected;
    if (size == 'S') expected = testRank[test] + (test <= 2 ? iteration : -iteration);
    else if (size == 'W') expected = testRank[test] + (test < 2 ? iteration - 2 : -iteration);
    else expected = testRank[test] + (test <= 2 ? iteration - 1 : 1 - iteration);
    if (rank == expected) ++passed;
  }

  /** Returns whether the ranks of the last iteration sort all keys, also across processes. */
  private boolean sorted() {
    int[] inOrder = new int[arrivedKeys];
    boolean right = true;
    for (int at = 0; at < arrivedKeys; ++at) {
      int place = --notAbove[arrived[at] - firstKey];
      right &= place >= 0 && place < arrivedKeys;
      if (right) inOrder[place] = arrived[at];
    }
    for (int at = 1; at < arrivedKeys; ++at) right &= inOrder[at - 1] <= inOrder[at];
    int[] last = {arrivedKeys > 0 ? inOrder[arrivedKeys - 1] : firstKey};
    if (ranks.rank + 1 < ranks.count) ranks.all.Send(last, 0, 1, MPI.INT, ranks.rank + 1, TAG_BORDER);
    if (ranks.rank > 0) {
      int[] before = new int[1];
      ranks.all.Recv(before, 0, 1, MPI.INT, ranks.rank - 1, TAG_BORDER);
      right &= arrivedKeys == 0 || before[0] <= inOrder[0];
    }
    return ranks.sum(right ? 0 : 1) == 0 && (int) ranks.sum(arrivedKeys) == total;
  }
}
