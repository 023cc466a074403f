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
    let chart = Chart(
      title: "a < b", clients: ["C", "ours"],
      groups: [
        Chart.Group(name: "small", ratios: [Figure(1), Figure([1.5, 2, 2.5])]),
        Chart.Group(name: "up", ratios: [Figure(1), nil]),
      ])

    let svg = chart.svg

    // two in the legend, three in the groups, and the range of the one that was measured several times
    #expect(svg.split(separator: "<rect ").count - 1 == 2 + 3 + 1)
    #expect(svg.contains("a &lt; b"))
  }
}
