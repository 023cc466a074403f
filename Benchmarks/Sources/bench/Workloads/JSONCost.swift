import Foundation

/// The costs of decoding a response of 1 MiB: a list of records with names, numbers, flags and short lists.
enum JSONCost {
  private struct Record: Codable {
    var id: Int
    var name: String
    var price: Double
    var isAvailable: Bool
    var tags: [String]
  }

  static func table(rounds: Int) throws -> ResultTable {
    let record = Record(
      id: 1, name: "A record with a name of usual length", price: 12.5, isAvailable: true, tags: ["first", "second"])
    let length = try JSONEncoder().encode(record).count + 1
    let records = (0..<(1 << 20) / length).map { index in
      var one = record
      one.id = index
      return one
    }
    let data = try JSONEncoder().encode(records)
    func milliseconds(_ work: () throws -> Void) throws -> Figure? {
      try work()
      return Figure(try (0..<rounds * 4).map { _ in try ContinuousClock().measure(work) / .milliseconds(1) })
    }
    var table = ResultTable(
      key: "json", title: "**JSON of 1 MiB**, \(records.count) records: milliseconds, median (least–most)",
      columns: ["decoder", "time"], digits: 1)
    table.add(
      "Foundation's JSONDecoder, which `HTTPSession.value` uses",
      [try milliseconds { _ = try JSONDecoder().decode([Record].self, from: data) }])
    table.add(
      "Foundation's JSONSerialization, without types",
      [try milliseconds { _ = try JSONSerialization.jsonObject(with: data) }])
    return table
  }
}
