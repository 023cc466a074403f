import Testing

@testable import bench

@Suite struct ReportTests {
  @Test func aTablePrintsMediansWithTheirRanges() {
    var table = ResultTable(key: "ratio", title: "Ratio", columns: ["client", "small"], digits: 2)
    table.add("Martlet", [Figure([0.5, 1.25, 2.125])])
    table.add("absent", [nil])

    #expect(table.markdown.contains("1.25 (0.50–2.13) |"))
    #expect(table.markdown.contains("| absent "))
    #expect(table.markdown.contains("– |"))
  }

  @Test func aChartHasABarForEachClientThatTookPart() {
    var table = ResultTable(key: "ratio", title: "Ratio", columns: ["client", "a < b", "up"])
    table.add("C", [Figure(1), Figure(1)])
    table.add("ours", [Figure([1.5, 2, 2.5]), nil])
    table.add("hidden", [Figure(3), nil])

    let svg = Chart(table, clients: ["C", "ours"], workloads: ["a < b", "up"]).svg

    // two in the legend, three in the groups, and the range of the one that was measured several times
    #expect(svg.split(separator: "<rect ").count - 1 == 2 + 3 + 1)
    #expect(svg.contains("a &lt; b"))
  }

  @Test func combinedRunsHaveTheMediansOfTheirMedians() throws {
    func run(_ ours: Double?) -> Report {
      var table = ResultTable(key: "ratio", title: "Ratio", columns: ["client", "small", "up"])
      table.add("C", [Figure([0.9, 1, 1.1]), nil])
      if let ours { table.add("ours", [Figure([0.1, ours, 9]), Figure(ours)]) }
      var report = Report(machine: "two processors")
      report.add(table)
      return report
    }

    let table = try #require(Report(combining: [run(3), run(nil), run(1), run(2)]).tables.first)

    #expect(table.rows.map(\.name) == ["C", "ours"])
    #expect(table.rows[0].figures == [Figure([1, 1, 1, 1]), nil])
    #expect(table.rows[1].figures == [Figure([3, 1, 2]), Figure([3, 1, 2])])
  }
}
