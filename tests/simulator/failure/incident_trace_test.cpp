#include <gtest/gtest.h>

#include <string>

#include "simulator/failure/incident_trace.h"
#include "simulator/failure/run_random.h"
#include "simulator/failure/timestamp.h"
#include "simulator/failure/trace_replay.h"
#include "simulator/failure/trace_statistics.h"
#include "tests/simulator/failure/job_fixture.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

TEST(Timestamp, ReadsNumbersDatesAndZones) {
  EXPECT_EQ(parse_timestamp("86400.5"), 86400.5);
  EXPECT_EQ(parse_timestamp("1970-01-02"), 86400.0);
  EXPECT_EQ(parse_timestamp(" 1970/1/2 00:30 "), 86400.0 + 1800.0);
  EXPECT_EQ(parse_timestamp("1970-01-02T01:02:03.25Z"), 86400.0 + 3723.25);
  EXPECT_EQ(parse_timestamp("1970-01-02T08:00:00+08:00"), 86400.0);
  EXPECT_EQ(parse_timestamp("1970-01-01T19:00:00-0500"), 86400.0);
  // 2024 is a leap year: 19,783 days after 1970-01-01 is the first of March.
  EXPECT_EQ(parse_timestamp("2024-03-01"), 19783.0 * 86400.0);
}

TEST(Timestamp, RefusesWhatIsNone) {
  for (const char* text : {"", "yesterday", "2024-13-01", "2023-02-29", "2024-01-01T25:00", "2024-01-01T10", "10:00",
                           "2024-01-01T10:61", "2024-01-01Q10:00", "2024-01-01T10:00:00+8", "nan"}) {
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
}

TEST(IncidentTrace, TakesAnyOrderCaseAndFurtherColumns) {
  const IncidentTrace trace = parse_incident_trace(
      "\xEF\xBB\xBF# made by hand\nNode,kind,END,Start\r\nb,\"fan, rear\",20,10\na,GPU,,5\n\nb,x,60,30\n", "trace.csv");
  ASSERT_EQ(trace.incidents.size(), 3U);
  EXPECT_EQ(trace.nodes[trace.incidents[0].node], "a");
  EXPECT_EQ(trace.begin, 5.0);
  EXPECT_EQ(trace.end, 60.0);
  EXPECT_EQ(trace.incidents[0].end, 60.0);  // still down at the end
}

TEST(IncidentTrace, KnowsTheUsualNamesOfColumns) {
  const IncidentTrace trace = parse_incident_trace("Host,Start Time,end_time\nn1,1,2\n", "t.csv");
  EXPECT_EQ(trace.nodes.front(), "n1");
  EXPECT_EQ(trace.incidents.front().end, 2.0);
}

// Two monitors logged a's first incident; b's of the same time is another.
TEST(IncidentTrace, CountsARepeatedLineOnce) {
  const IncidentTrace trace = parse_incident_trace("start,end,node\n1,2,a\n1,2,b\n1,2,a\n3,4,a\n", "t.csv");
  EXPECT_EQ(trace.incidents.size(), 3U);
  EXPECT_EQ(trace.repeated, 1);
}

struct Bad {
  const char* text;
  const char* problem;
  const char* where;
};

TEST(IncidentTrace, ErrorsNameFileLineAndColumn) {
  const Bad bad[] = {
      {"", "empty trace", "t.csv"},
      {"start,end\n1,2\n", "no column \"node\"", "line 1"},
      {"start,end,node\n", "no incidents", "t.csv"},
      {"start,end,node\n1,2\n", "2 fields under a heading of 3", "line 2"},
      {"start,end,node\n1,2,a\nsoon,2,a\n", "start \"soon\" is no time", "line 3"},
      {"start,end,node\n5,2,a\n", "the end \"2\" is before the start \"5\"", "line 2"},
      {"start,end,node\n1,2,\n", "of no node", "line 2"},
      {"start,end,node\n1,2,\"a\n", "a quote that doesn't end", "line 2"},
      {"start,end,node\n1,1,a\n", "one instant", "t.csv"},
      {"start,end,node\n2023-05-01,2023-05-02,a\n5,90000,b\n", "start \"5\" in a trace of dates", "line 3"},
  };
  for (const Bad& file : bad) {
    const Error error = error_of([&file] { parse_incident_trace(file.text, "t.csv"); });
    EXPECT_TRUE(contains(error.problem(), file.problem)) << error.problem();
    EXPECT_TRUE(contains(error.where(), file.where)) << error.where();
    EXPECT_FALSE(error.hint().empty());
  }
  EXPECT_TRUE(contains(error_of([] { read_incident_trace("/nowhere/t.csv"); }).where(), "/nowhere/t.csv"));
}

// Three nodes of a fleet of four over 100 hours: a down 0-10 and 5-20 (20 h, overlapping), b 50-60, c 90-100.
constexpr const char* kSmall = "start,end,node\n0,36000,a\n18000,72000,a\n180000,216000,b\n324000,360000,c\n";

TEST(TraceStatistics, CountsByHand) {
  const TraceStatistics s = trace_statistics(parse_incident_trace(kSmall, "t.csv"), 4);
  EXPECT_EQ(s.incidents, 4);
  EXPECT_NEAR(s.days, 100.0 / 24.0, 1e-12);
  EXPECT_NEAR(s.per_1000_node_days, 1000.0 * 4.0 / (4.0 * 100.0 / 24.0), 1e-9);
  EXPECT_NEAR(s.unavailability, 40.0 / 400.0, 1e-12);  // a's overlap counts once
  EXPECT_EQ(s.down_p50, 0);
  EXPECT_EQ(s.down_p99, 1);
  EXPECT_NEAR(s.frailty.never_hit, 0.25, 1e-12);
  EXPECT_NEAR(s.repair_mean, (10 + 15 + 10 + 10) * 3600.0 / 4, 1e-6);
  EXPECT_TRUE(contains(error_of([] { trace_statistics(parse_incident_trace(kSmall, "t.csv"), 2); }).hint(), "3"));
}

// A long made-up trace of the published fleet's kind: the statistics give back what it was drawn with. 400 nodes, Gamma
// frailty of shape 0.93, 4.23 incidents per 1000 node-days over 345 days, each down for two days: 4.23e-3 x 2 = 0.85 %.
TEST(TraceStatistics, GiveBackWhatATraceWasDrawnWith) {
  RunRandom random(3, 0);
  std::string text = "start,end,node\n";
  for (int node = 0; node < 400; ++node) {
    const double rate = 4.23e-3 / kTestDay * random.gamma(0.93) / 0.93;
    for (double t = random.exponential() / rate; t < 345.0 * kTestDay; t += random.exponential() / rate) {
      text += std::to_string(t) + "," + std::to_string(t + 2.0 * kTestDay) + ",n" + std::to_string(node) + "\n";
    }
  }
  const TraceStatistics s = trace_statistics(parse_incident_trace(text, "t.csv"), 400);
  // 584 incidents expected, whose count spreads by 4 % and by the frailty's sqrt(1/400/0.93) = 5 %.
  EXPECT_NEAR(s.per_1000_node_days, 4.23, 0.6);
  EXPECT_NEAR(s.unavailability, s.per_1000_node_days * 2e-3, 0.001);
  ASSERT_TRUE(s.frailty_shape);
  EXPECT_NEAR(*s.frailty_shape, 0.93, 0.35);
  EXPECT_NEAR(s.frailty.never_hit, 0.42, 0.06);
  EXPECT_NEAR(s.repair_median, 2.0 * kTestDay, 1.0);
}

// One node, a save every 900 s that costs 5 s, down from 3000 to 4000 s of 10,000; detection 30 s and restart 420 s.
// Nothing to go over to: it stands until 4000 s, then restarts. At 3000 s it is 285 s into the fourth segment, which
// are lost.
TEST(TraceReplay, OneNodeByHand) {
  JobModel job = plain_job();
  job.nodes = 1;
  job.hazards[0].silent_share = exactly(0.0);
  job.hazards[0].nodes_down = 1;
  const IncidentTrace trace = parse_incident_trace("start,end,node\n0,0,b\n3000,4000,a\n10000,10000,b\n", "t.csv");
  ReplayRequest request;
  request.seed = 0;
  ReplayResult result = replay_trace(job, trace, request);
  if (result.failures != 1) {  // the job sits on b: choose the other
    for (request.seed = 1; result.failures != 1; ++request.seed) {
      result = replay_trace(job, trace, request);
    }
  }
  // With b free it goes over at once: 30 + 420 s, then 6,550 s: 7 saves of 5 s and 7 x 900 + 215 s of work.
  EXPECT_NEAR(result.shares[TimeUse::kDetection] * 10000.0, 30.0, 1e-6);
  EXPECT_NEAR(result.shares[TimeUse::kRestart] * 10000.0, 420.0, 1e-6);
  EXPECT_NEAR(result.shares[TimeUse::kLostWork] * 10000.0, 285.0, 1e-6);
  EXPECT_NEAR(result.goodput * 10000.0, 2700.0 + 7 * 900.0 + 215.0, 1e-6);
  EXPECT_NEAR(result.shares.sum(), 1.0, 1e-9);
}

TEST(TraceReplay, WaitsWhereTheFleetHasNoOtherNode) {
  JobModel job = plain_job();
  job.nodes = 1;
  const IncidentTrace trace = parse_incident_trace("start,end,node\n0,1,a\n3000,4000,a\n5000,5001,a\n", "t.csv");
  const ReplayResult result = replay_trace(job, trace);
  EXPECT_EQ(result.failures, 3);
  EXPECT_GT(result.shares[TimeUse::kWaiting], 0.1);
  EXPECT_NEAR(result.shares.sum(), 1.0, 1e-9);
}

TEST(TraceReplay, RefusesAJobLargerThanTheFleet) {
  const IncidentTrace trace = parse_incident_trace(kSmall, "t.csv");
  EXPECT_TRUE(contains(error_of([&] { replay_trace(plain_job(), trace); }).problem(), "needs 2048 nodes"));
}

}  // namespace
}  // namespace trainyard::simulator
