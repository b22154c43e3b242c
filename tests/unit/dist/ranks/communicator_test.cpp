// What every form of Communicator owes, on as many ranks as there are.
#include <numeric>

#include "support/lab.h"
#include "unit/dist/ranks/world.h"

namespace dashlm::testing {
namespace {

// Elements for each rank: uneven, and none for some.
std::vector<int64_t> uneven_counts(int64_t unit) {
  std::vector<int64_t> counts;
  for (int rank = 0; rank < world().size(); ++rank) counts.push_back(unit * ((rank + 1) % 3));
  return counts;
}

int64_t total(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

int64_t begin_of(const std::vector<int64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0});
}

// Element i of what `rank` contributes to piece `piece`; sums depend on the order they are taken
// in.
float value(int rank, int64_t piece, int64_t i) {
  const CounterRandom random(static_cast<uint64_t>(rank), Purpose::test,
                             static_cast<uint64_t>(piece));
  return static_cast<float>(std::exp(10 * random.uniform(static_cast<uint64_t>(i)))) *
         (i % 2 ? 1.0f : -1.0f);
}

int own() {
  return world().rank();
}
size_t own_index() {
  return static_cast<size_t>(own());
}

TEST(Communicator, KnowsItsPlace) {
  EXPECT_GE(own(), 0);
  EXPECT_LT(own(), world().size());
  const std::vector<std::string> ranks = world().exchange(std::to_string(own()));
  for (size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(ranks[i], std::to_string(i));
  EXPECT_EQ(world().local_size(), world().size()) << "tests run on one machine";
  EXPECT_EQ(world().local_rank(), own());
}

// Sums are those of a loop over the ranks, to the last bit.
TEST(Communicator, ReduceScatterAddsUpInTheOrderOfRanks) {
  for (const int64_t unit : {1, 7, 5000}) {
    Lab lab;
    const std::vector<int64_t> counts = uneven_counts(unit);
    const Tensor packed = lab.output("packed", {total(counts)});
    const Tensor sum = lab.output("sum", {counts[own_index()]});
    const Tensor scratch = lab.output("scratch", {world().size() * counts[own_index()]});
    for (int64_t i = 0; i < packed.elements(); ++i) packed.f32()[i] = value(own(), unit, i);
    const int64_t sent = world().bytes_sent();
    world().reduce_scatter(packed, sum, counts, scratch).wait();
    EXPECT_EQ(world().bytes_sent() - sent, 4 * (total(counts) - counts[own_index()]));
    for (int64_t i = 0; i < sum.elements(); ++i) {
      const int64_t at = begin_of(counts, own()) + i;
      float expected = value(0, unit, at);
      for (int rank = 1; rank < world().size(); ++rank) expected += value(rank, unit, at);
      ASSERT_EQ(sum.f32()[i], expected) << i;
    }
  }
}

TEST(Communicator, AllGatherPutsSegmentsSideBySide) {
  for (const int64_t unit : {1, 7, 5000}) {
    Lab lab;
    const std::vector<int64_t> counts = uneven_counts(unit);
    const Tensor segment = lab.output("segment", {counts[own_index()]});
    const Tensor packed = lab.output("packed", {total(counts)});
    for (int64_t i = 0; i < segment.elements(); ++i) segment.f32()[i] = value(own(), unit, i);
    const int64_t sent = world().bytes_sent();
    world().all_gather(segment, packed, counts).wait();
    EXPECT_EQ(world().bytes_sent() - sent, 4 * counts[own_index()] * (world().size() - 1));
    for (int rank = 0; rank < world().size(); ++rank) {
      for (int64_t i = 0; i < counts[static_cast<size_t>(rank)]; ++i) {
        ASSERT_EQ(packed.f32()[begin_of(counts, rank) + i], value(rank, unit, i));
      }
    }
  }
}

// Many on their way at once, of which some share the scratch memory, waited for in any order.
TEST(Communicator, WorksRunInOrderWhileOthersWait) {
  constexpr int64_t kWorks = 20, kCount = 300;
  Lab lab;
  const std::vector<int64_t> counts(static_cast<size_t>(world().size()), kCount);
  const Tensor scratch = lab.output("scratch", {world().size() * kCount});
  std::vector<Tensor> packed, sums;
  std::vector<Work> works;
  for (int64_t k = 0; k < kWorks; ++k) {
    packed.push_back(lab.output("packed", {total(counts)}));
    sums.push_back(lab.output("sum", {kCount}));
    for (int64_t i = 0; i < packed.back().elements(); ++i) {
      packed.back().f32()[i] = static_cast<float>(k + 1) * static_cast<float>(own() + 1);
    }
    works.push_back(world().reduce_scatter(packed.back(), sums.back(), counts, scratch));
  }
  const std::vector<double> all = world().sum(std::vector{1.0, static_cast<double>(own())});
  EXPECT_EQ(all[0], world().size());
  EXPECT_EQ(all[1], world().size() * (world().size() - 1) / 2);
  const auto ranks = static_cast<float>(world().size() * (world().size() + 1) / 2);
  for (int64_t k = kWorks; k-- > 0;) {
    works[static_cast<size_t>(k)].wait();
    const Tensor& sum = sums[static_cast<size_t>(k)];
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(sum.f32()[i], static_cast<float>(k + 1) * ranks);
    }
  }
}

TEST(Communicator, ExchangesTextsOfAnyLength) {
  const auto text = [](int rank) {
    return std::string(static_cast<size_t>(rank % 2 ? 0 : 100000 * rank + 1),
                       static_cast<char>('a' + rank % 26));
  };
  const std::vector<std::string> all = world().exchange(text(own()));
  ASSERT_EQ(std::ssize(all), world().size());
  for (int rank = 0; rank < world().size(); ++rank) {
    EXPECT_EQ(all[static_cast<size_t>(rank)], text(rank));
  }
}

TEST(Communicator, ChecksWhatItIsGiven) {
  Lab lab;
  const std::vector<int64_t> counts(static_cast<size_t>(world().size()), 10);
  const Tensor small = lab.output("small", {9}), large = lab.output("large", {total(counts)});
  EXPECT_THROW(world().reduce_scatter(large, small, counts, large), Error);
  EXPECT_THROW(world().all_gather(small, large, counts), Error);
  const Tensor integers{large.data, DType::i32, large.shape, "integers"};
  EXPECT_THROW(world().all_gather(integers, large, counts), Error);
}

// The sums of values that only some ranks have, NaN among them, reach everybody alike.
TEST(Communicator, SumsAreTheSameEverywhere) {
  const double value = own() == world().size() - 1 ? std::nan("") : 1.0;
  const std::vector<double> sums = world().sum(std::vector{value, 0.1 * own()});
  EXPECT_TRUE(std::isnan(sums[0]));
  const std::string mine = fmt::format("{:a}", sums[1]);
  for (const std::string& other : world().exchange(mine)) EXPECT_EQ(other, mine);
}

}  // namespace
}  // namespace dashlm::testing
