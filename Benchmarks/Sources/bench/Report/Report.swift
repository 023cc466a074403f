import Foundation

/// What was measured, as Markdown.
enum Report {
  static func comparison(_ rows: [Comparison.Row], of clients: [any Client]) -> String {
    let names = clients.map(\.name)
    var table = MarkdownTable(["workload", "unit"] + names + names.dropFirst().map { "\($0) : C" })
    for row in rows {
      let rates = row.rates.map { number($0.median, digits: 0) }
      let ratios = clients.indices.dropFirst().map { number(row.timeRelativeToFirst(of: $0), digits: 2) }
      table.add([row.workload.name, row.workload.unit] + rates + ratios)
    }
    return table.text
  }

  static func instructions(_ rows: [(workload: Workload, counts: [Double?])], of clients: [any Client]) -> String {
    var table = MarkdownTable(["thousand instructions a request"] + clients.map(\.name))
    for row in rows { table.add([row.workload.name] + row.counts.map { number($0.map { $0 / 1000 }, digits: 1) }) }
    return table.text
  }

  static func pipeline(_ costs: [(interceptors: Int, nanoseconds: Double)]) -> String {
    var table = MarkdownTable("a request through `HTTPSession.data`, no wire", "ns")
    for cost in costs { table.add(["\(cost.interceptors) interceptors", number(cost.nanoseconds, digits: 0)]) }
    return table.text
  }

  static func cache(_ rows: [CacheCost.Row]) -> String {
    var table = MarkdownTable(
      "µs a request, one after another", "from memory", "from SQLite", "over loopback", "SQLite : loopback")
    for row in rows {
      table.add([
        "\(row.file.count / 1024) KiB, one of \(row.entries)", number(row.memory, digits: 1),
        number(row.disk, digits: 1), number(row.wire, digits: 1), number(row.disk / row.wire, digits: 2),
      ])
    }
    return table.text
  }

  static func decode(_ rows: [DecodeCost.Row]) -> String {
    var table = MarkdownTable(
      "\(DecodeCost.size) pixels, ms", "MartletImages", "C", "Pillow", "speed : C", "speed : Pillow")
    for row in rows {
      let ratios = [row.c, row.pillow].map { number(zip($0, row.ours).map { $0 / $1 }.median, digits: 2) }
      table.add(
        [row.task.name] + [row.ours, row.c, row.pillow].map { number($0.median, digits: 1) } + ratios)
    }
    return table.text
  }

  static func images(_ rounds: [(times: ImageListCost.Result, bounded: ImageListCost.Result)], count: Int) -> String {
    func median(_ value: (ImageListCost.Result) -> Double) -> String {
      number(rounds.map { value($0.times) }.median, digits: 0)
    }
    var times = MarkdownTable("\(count) photographs of 110 KiB as thumbnails", "ms")
    times.add(["decoding alone, on all processors", median(\.decoding)])
    times.add(["fetching alone, without a cache", median(\.fetching)])
    times.add(["cold: over the wire, into SQLite and memory", median(\.cold)])
    times.add(["warm: from SQLite", median(\.warm)])
    times.add(["from memory", median(\.memory)])
    var memory = MarkdownTable("MB resident, at most", "before", "pixels kept", "peak", "after trim(to: 0)")
    for (name, results) in [
      ("thumbnails, three times", rounds.map(\.times)), ("full size, 64 MiB at most", rounds.map(\.bounded)),
    ] {
      let fields: [KeyPath<ImageListCost.Result, Int>] = [\.start, \.kept, \.peak]
      let most = fields.map { field in results.map { $0[keyPath: field] }.max() ?? 0 }
      let trimmed = results.map(\.trimmed).max() ?? 0
      memory.add([name] + most.map(megabytes) + [trimmed == 0 ? "–" : megabytes(trimmed)])
    }
    return times.text + "\n\n" + memory.text
  }

  static func memory(_ results: [(probe: MemoryProbe, result: MemoryProbe.Result)]) -> String {
    var table = MarkdownTable("MB resident", "before", "while paused", "peak", "peak : body")
    for (probe, result) in results {
      table.add([
        probe.title, megabytes(result.start), result.paused == 0 ? "–" : megabytes(result.paused),
        megabytes(result.peak), number(Double(result.peak) / Double(probe.file.count), digits: 2),
      ])
    }
    return table.text
  }

  private static func megabytes(_ bytes: Int) -> String { number(Double(bytes) / 1_000_000, digits: 1) }

  static func number(_ value: Double?, digits: Int) -> String {
    value.map { String(format: "%.\(digits)f", $0) } ?? "–"
  }
}
