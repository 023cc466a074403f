#if !canImport(Darwin)
/// Plays recorded values and a completion to each subscriber, as it requests them.
public struct Record<Output, Failure: Error>: Publisher {
  /// The values and the completion.
  public let recording: Recording

  /// Makes a publisher of what the closure records.
  public init(record: (inout Recording) -> Void) {
    var recording = Recording()
    record(&recording)
    self.recording = recording
  }

  /// Makes a publisher of a recording.
  public init(recording: Recording) { self.recording = recording }

  /// Makes a publisher of values and a completion.
  public init(output: [Output], completion: Subscribers.Completion<Failure>) {
    recording = Recording(output: output, completion: completion)
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    ReadyValues.start(
      recording.output, completion: recording.completion, to: subscriber, nameAfterTheEnd: "Cancelled Events")
  }

  /// Values and a completion.
  public struct Recording {
    /// The type of the values.
    public typealias Input = Output

    /// The values.
    public private(set) var output: [Output]
    /// The completion; `.finished` by default.
    public private(set) var completion: Subscribers.Completion<Failure>
    private var isComplete: Bool

    /// Makes an empty recording.
    public init() { (output, completion, isComplete) = ([], .finished, false) }

    /// Makes a complete recording.
    public init(output: [Output], completion: Subscribers.Completion<Failure> = .finished) {
      (self.output, self.completion, isComplete) = (output, completion, true)
    }

    /// Records a value. After the completion, this is a programming error and stops the program.
    public mutating func receive(_ input: Input) {
      precondition(!isComplete, "a recording cannot receive values after its completion")
      output.append(input)
    }

    /// Records the completion. A second one is a programming error and stops the program.
    public mutating func receive(completion: Subscribers.Completion<Failure>) {
      precondition(!isComplete, "a recording cannot receive a second completion")
      self.completion = completion
      isComplete = true
    }
  }
}

extension Record: Codable where Output: Codable, Failure: Codable {}

extension Record.Recording: Codable where Output: Codable, Failure: Codable {
  private enum CodingKeys: String, CodingKey {
    case output
    case completion
  }

  /// Reads `{"output": […], "completion": …}`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      output: try container.decode([Output].self, forKey: .output),
      completion: try container.decode(Subscribers.Completion<Failure>.self, forKey: .completion))
  }

  /// Writes `{"output": […], "completion": …}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(output, forKey: .output)
    try container.encode(completion, forKey: .completion)
  }

  /// Writes `{"output": […], "completion": …}`, like ``encode(to:)``.
  public func encode(into encoder: any Encoder) throws { try encode(to: encoder) }
}
#endif
