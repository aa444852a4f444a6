// Frame memory: little for few messages, much for many, and used again.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/chunk_pool.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <list>
#include <set>
#include <vector>

using namespace exs::iwarp;

BOOST_AUTO_TEST_SUITE(chunk_pool_test)

BOOST_AUTO_TEST_CASE(the_first_chunk_of_an_arena_is_small) {
  ChunkPool pool;
  FrameArena arena(pool);
  std::vector<FrameArena::Piece> pieces;
  for (int i = 0; i < 100; ++i) pieces.push_back(arena.allocate(100));
  std::set<Chunk*> chunks;
  for (const FrameArena::Piece& piece : pieces) chunks.insert(piece.chunk);
  BOOST_TEST(chunks.size() == 2U);
  BOOST_TEST(pieces.front().chunk->capacity == ChunkPool::kSmallChunkBytes);
  BOOST_TEST(pieces.back().chunk->capacity == ChunkPool::kChunkBytes);
  for (const FrameArena::Piece& piece : pieces) arena.release(piece.chunk);
  // Expect: an arena that held nothing begins small again.
  const FrameArena::Piece again = arena.allocate(100);
  BOOST_TEST(again.chunk->capacity == ChunkPool::kSmallChunkBytes);
  arena.release(again.chunk);
}

BOOST_AUTO_TEST_CASE(many_arenas_with_one_message_each_take_little) {
  ChunkPool pool;
  std::list<FrameArena> arenas;
  std::vector<FrameArena::Piece> pieces;
  std::size_t taken_bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    pieces.push_back(arenas.emplace_back(pool).allocate(120));
    taken_bytes += pieces.back().chunk->capacity;
  }
  BOOST_TEST(taken_bytes == 1000 * ChunkPool::kSmallChunkBytes);
  auto arena = arenas.begin();
  for (const FrameArena::Piece& piece : pieces) (arena++)->release(piece.chunk);
}

BOOST_AUTO_TEST_CASE(pieces_of_all_sizes_lie_apart) {
  ChunkPool pool;
  FrameArena arena(pool);
  std::vector<std::pair<FrameArena::Piece, std::size_t>> pieces;
  const std::size_t sizes[] = {0,
                               1,
                               ChunkPool::kSmallChunkBytes - 1,
                               ChunkPool::kSmallChunkBytes,
                               ChunkPool::kSmallChunkBytes + 1,
                               ChunkPool::kChunkBytes - 1,
                               ChunkPool::kChunkBytes,
                               ChunkPool::kChunkBytes + 1,
                               65500};
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t first : sizes) {
      for (const std::size_t second : sizes) {
        for (const std::size_t bytes : {first, second}) {
          const FrameArena::Piece piece = arena.allocate(bytes);
          BOOST_REQUIRE(piece.chunk->used <= piece.chunk->capacity);
          if (bytes > 0) std::memset(piece.start, static_cast<int>(pieces.size()), bytes);
          pieces.emplace_back(piece, bytes);
        }
      }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto& [piece, bytes] = pieces[i];
      for (std::size_t at = 0; at < bytes; ++at) BOOST_REQUIRE(piece.start[at] == static_cast<std::byte>(i));
    }
    // From the middle outwards: any order will do.
    while (!pieces.empty()) {
      const auto at = pieces.begin() + static_cast<long>(pieces.size() / 2);
      arena.release(at->first.chunk);
      pieces.erase(at);
    }
  }
}

BOOST_AUTO_TEST_CASE(chunks_of_both_sizes_are_used_again) {
  ChunkPool pool;
  for (const std::size_t bytes : {ChunkPool::kSmallChunkBytes, ChunkPool::kChunkBytes}) {
    Chunk* const chunk = pool.take_chunk(bytes);
    BOOST_TEST(chunk->capacity == bytes);
    chunk->used = 7;
    pool.give_back(chunk);
    Chunk* const again = pool.take_chunk(bytes);
    BOOST_TEST(again == chunk);
    BOOST_TEST(again->used == 0U);
    pool.give_back(again);
  }
}

BOOST_AUTO_TEST_SUITE_END()
