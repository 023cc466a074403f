/// The rest of a stage of a call, which has to be awaited: the stage has done all that it can do at once.
///
/// Every request passes many functions that rarely have to wait, and an `await` would take longer than most of them. In
/// names, `immediate` therefore means that a function neither suspends nor blocks:
/// - A question (`immediateLine`, `immediateBytes`) returns nil if the answer has to be awaited. An asynchronous
///   function beside it then returns the answer.
/// - A stage (`prepareImmediately`, `reviewImmediately`) has had effects and cannot be started again, so it returns its
///   rest; nil if nothing is left.
///
/// A function that blocks its caller's thread until it is done has a name with `blocking`.
@_spi(Toolkit) public typealias Unfinished<Value> = @Sendable () async throws -> Value
