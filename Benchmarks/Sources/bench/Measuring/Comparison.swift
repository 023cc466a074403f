import Foundation
import MeasuredClient

/// Compares clients. In every round each client does each workload once, so that other load on the machine affects all
/// of them equally. Each has its own process for the whole comparison, and keeps its connections.
struct Comparison {
  /// The result of one client in one round.
  struct Sample {
    /// In the workload's unit.
    let rate: Double
    /// Microseconds of all processors for a request.
    let processor: Double
    /// The maximum of resident memory, in bytes.
    let peak: Int
    /// The page faults for a request.
    let pageFaults: Double
  }

  /// The clients that took part, their versions, and for each workload and client the samples of the rounds.
  struct Result {
    let programs: [ClientProgram]
    let versions: [String]
    let workloads: [Workload]
    var samples: [[[Sample]]]

    func figure(_ workload: Int, _ program: Int, _ value: (Sample) -> Double) -> Figure? {
      Figure(samples[workload][program].map(value))
    }

    /// The peak of memory in MB; nil for a command, whose memory is not known.
    func megabytes(_ workload: Int, _ program: Int) -> Figure? {
      guard programs[program].launch != nil else { return nil }
      return figure(workload, program) { Double($0.peak) / 1_000_000 }
    }

    /// The client with which the others are compared: the better of the C loops, or the first client without any.
    func reference(_ workload: Int) -> Int {
      let loops = programs.indices.filter { index in
        ClientProgram.references.contains { $0.key == programs[index].key } && !samples[workload][index].isEmpty
      }
      func rate(_ program: Int) -> Double { figure(workload, program, \.rate)?.median ?? 0 }
      return loops.max { rate($0) < rate($1) } ?? 0
    }

    /// The throughput relative to that of another client, ``reference(_:)`` if none is given. It is the median of the
    /// rounds' ratios, which vary less than the ratio of the medians.
    func ratio(_ workload: Int, _ program: Int, to other: Int? = nil) -> Figure? {
      let other = other ?? reference(workload)
      return Figure(zip(samples[workload][program], samples[workload][other]).map { $0.rate / $1.rate })
    }
  }

  let programs: [ClientProgram]
  let server: RunningServer
  let rounds: Int
  /// The time for which a client fetches in a round.
  let seconds: Double
  var connections = 64
  /// Whether each round begins with a new process, and so without connections.
  var startsCold = false
  let progress: (String) -> Void

  func run(_ workloads: [Workload]) throws -> Result {
    var started: [(program: ClientProgram, runner: any ClientRunner)] = []
    defer { for client in started { client.runner.stop() } }
    for program in programs where workloads.contains(where: { $0.needs.isSubset(of: program.abilities) }) {
      do { started.append((program, try program.start(at: server, connections: connections))) } catch {
        progress("left out: \(error)")
      }
    }
    var result = Result(
      programs: started.map(\.program), versions: started.map(\.runner.version), workloads: workloads,
      samples: workloads.map { _ in started.map { _ in [] } })
    for (index, workload) in workloads.enumerated() {
      var times = started.map { client in
        if startsCold { return workload.needs.isSubset(of: client.program.abilities) ? workload.atOnce : nil }
        return leavingOutFailures(of: client.program) { try warmUp(workload, client.program, client.runner) } ?? nil
      }
      for round in 0..<rounds {
        progress("\(workload.name): round \(round + 1) of \(rounds)")
        for turn in started.indices {
          let client = (turn + round) % started.count  // no client always follows the same one
          guard let count = times[client] else { continue }
          let sample = leavingOutFailures(of: started[client].program) {
            if startsCold {
              started[client].runner.stop()
              started[client].runner = try started[client].program.start(at: server, connections: connections)
            }
            return try measure(workload, started[client].runner, times: count)
          }
          guard let sample else {
            (times[client], result.samples[index][client]) = (nil, [])
            continue
          }
          result.samples[index][client].append(sample)
        }
      }
    }
    return result
  }

  /// A client that fails takes no part in the workload; the reason is printed. The others are measured.
  private func leavingOutFailures<Value>(of program: ClientProgram, _ work: () throws -> Value) -> Value? {
    do { return try work() } catch {
      progress("FAILED and left out: \(program.title): \(error)")
      return nil
    }
  }

  /// The number of requests that the client makes in a round of ``seconds``; nil if it cannot do the workload.
  private func warmUp(_ workload: Workload, _ program: ClientProgram, _ runner: any ClientRunner) throws -> Int? {
    guard workload.needs.isSubset(of: program.abilities) else { return nil }
    progress("\(workload.name): warming up \(program.title)")
    if !workload.countsRequests || workload.atOnce > 64 {
      _ = try measure(workload, runner, times: workload.atOnce)
      return workload.atOnce
    }
    let first = try measure(workload, runner, times: workload.atOnce * 4)
    let second = try measure(workload, runner, times: max(workload.atOnce * 4, Int(first.rate * seconds / 3)))
    return max(workload.atOnce * 4, Int(second.rate * seconds))
  }

  private func measure(_ workload: Workload, _ runner: any ClientRunner, times: Int) throws -> Sample {
    let assignment = workload.assignment(at: server, times: times)
    let result = try runner.measure(assignment)
    return Sample(
      rate: workload.rate(result, assignment),
      processor: result.processor * 1_000_000 / Double(assignment.times), peak: result.peak,
      pageFaults: Double(result.pageFaults) / Double(assignment.times))
  }
}
