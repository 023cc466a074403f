import Martlet
public import MartletCombine

extension NetworkTask {
  /// Runs the task and hands over everything that came of it.
  ///
  /// - Returns: what cancels it.
  @discardableResult
  public func execute(
    _ completion: @escaping @Sendable (NetworkResponse<Value>) -> Void
  ) -> Task<Void, Never> {
    Task { completion(await execute()) }
  }

  /// A publisher that runs the task for each subscriber, on its first demand, and delivers everything that came of it.
  public func executePublisher() -> AnyPublisher<NetworkResponse<Value>, Never> {
    TaskPublisher { [self] () async throws(Never) -> NetworkResponse<Value> in await execute() }.eraseToAnyPublisher()
  }
}
