import MartletSemantics

/// The values of metrics at one time, for reading or printing.
///
/// ```swift
/// let snapshot = CallMetrics().snapshot()
/// snapshot["martlet_calls_total"]?.sum(where: ["result": "success"])   // 17
/// snapshot.text   // what Prometheus reads
/// ```
public struct MetricsSnapshot: Sendable {
  /// The metrics, in a fixed order.
  public var metrics: [Metric]

  /// Makes a snapshot.
  public init(metrics: [Metric]) { self.metrics = metrics }

  /// The metric with a name; nil if there is none.
  public subscript(name: String) -> Metric? { metrics.first { $0.name == name } }

  /// A metric, with a value for each combination of labels.
  public struct Metric: Sendable {
    /// The type of its values.
    public enum Kind: String, Sendable, Hashable {
      /// A number that only rises.
      case counter
      /// A number that rises and falls.
      case gauge
      /// The number of values in each range.
      case histogram
    }

    /// The name in Prometheus's form.
    public var name: String
    /// The type of its values.
    public var kind: Kind
    /// A description, in a sentence.
    public var help: String
    /// The values, ordered by their labels.
    public var series: [Series]

    /// Makes a metric. Its series are put in order.
    public init(_ name: String, _ kind: Kind, _ help: String, _ series: [Series]) {
      self.name = name
      self.kind = kind
      self.help = help
      self.series = series.sorted { $0.labels.map(\.value).lexicographicallyPrecedes($1.labels.map(\.value)) }
    }

    /// The sum of the values whose labels have these values; of a histogram, the number of values.
    public func sum(where labels: [String: String] = [:]) -> Double {
      series.filter { series in labels.allSatisfy { series[$0.key] == $0.value } }.reduce(0) { $0 + $1.value.total }
    }
  }

  /// One value of a metric.
  public struct Series: Sendable {
    /// The labels, without empty labels.
    public var labels: [(name: String, value: String)]
    /// The value.
    public var value: Value

    /// Makes a series. Empty labels are omitted.
    public init(_ labels: [(String, String)], _ value: Value) {
      self.labels = labels.filter { !$0.1.isEmpty }.map { (name: $0.0, value: $0.1) }
      self.value = value
    }

    /// The value of a label; nil if the series does not have it.
    public subscript(label: String) -> String? { labels.first { $0.name == label }?.value }
  }

  /// A number, or a histogram.
  public enum Value: Sendable, Hashable {
    /// A number.
    case number(Double)
    /// A histogram.
    case histogram(Histogram)

    fileprivate var total: Double {
      switch self {
      case .number(let number): number
      case .histogram(let histogram): Double(histogram.count)
      }
    }
  }

  /// The number of durations, in seconds, in each range. The ranges are those of OpenTelemetry's conventions.
  public struct Histogram: Sendable, Hashable {
    /// The upper ends of the ranges; the last range has none.
    public static let bounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

    /// The number of durations in each range: one more than there are ``bounds``.
    public private(set) var counts = Array(repeating: 0, count: Histogram.bounds.count + 1)
    /// The sum of all durations.
    public private(set) var sum = 0.0
    /// The number of all durations.
    public private(set) var count = 0

    /// Makes an empty histogram.
    public init() {}

    /// Adds a duration in seconds. If it is at the end of a range, it belongs to that range.
    public mutating func add(_ seconds: Double) {
      counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
      sum += seconds
      count += 1
    }
  }
}

extension MetricsSnapshot {
  /// The text that Prometheus reads, in the format with version 0.0.4: send it as `text/plain; version=0.0.4`.
  public var text: String {
    var text = ""
    for metric in metrics where !metric.series.isEmpty {
      text += "# HELP \(metric.name) \(Self.escaped(metric.help))\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
      for series in metric.series {
        switch series.value {
        case .number(let number): text += Self.line(metric.name, series.labels, number)
        case .histogram(let histogram): text += Self.lines(metric.name, series.labels, histogram)
        }
      }
    }
    return text
  }

  private static func lines(
    _ name: String, _ labels: [(name: String, value: String)], _ histogram: Histogram
  ) -> String {
    var text = ""
    var count = 0
    for (index, bound) in (Histogram.bounds.map(number) + ["+Inf"]).enumerated() {
      count += histogram.counts[index]
      text += line(name + "_bucket", labels + [(name: "le", value: bound)], Double(count))
    }
    return text + line(name + "_sum", labels, histogram.sum) + line(name + "_count", labels, Double(histogram.count))
  }

  private static func line(_ name: String, _ labels: [(name: String, value: String)], _ value: Double) -> String {
    let text = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
    return "\(name)\(text.isEmpty ? "" : "{\(text)}") \(number(value))\n"
  }

  private static func number(_ value: Double) -> String {
    let whole = value.rounded(.towardZero)
    return whole == value && abs(value) < 1e15 ? "\(Int64(whole))" : "\(value)"
  }

  /// Escapes a backslash and a line feed, and in the value of a label also a quote.
  private static func escaped(_ text: String, quotes: Bool = false) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
