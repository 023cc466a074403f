#if !canImport(Darwin)
/// The subscription of a subject.
class SubjectSubscription<Downstream: Subscriber>: OrderedSubscription<Downstream> {
  typealias Hub = SubjectHub<Downstream.Input, Downstream.Failure>

  /// Kept until the end: a subject works as long as a subscriber can receive from it. Guarded by the lock.
  final private(set) var hub: Hub?
  private var member: Hub.Member?

  init(_ hub: Hub, to downstream: Downstream, name: String) {
    self.hub = hub
    super.init(to: downstream, name: name)
  }

  /// Receives a value of the subject, and its number.
  func receive(_ value: Downstream.Input, _ number: Int) { send(value) }

  /// Becomes a member of the subject, and gives the subscription to the subscriber.
  final func begin(for subscriber: Downstream) {
    let member = Hub.Member { [self] value, number in
      receive(value, number)
    } end: { [self] completion in
      leave()
      finish(completion)
    }
    self.member = member
    guard let completion = hub?.add(member) else { return start() }
    leave()
    subscriber.receive(onlyCompletion: completion)
  }

  override func didClose() { leave() }

  private func leave() {
    let (hub, member) = lock.withLock { () -> (Hub?, Hub.Member?) in
      defer { (self.hub, self.member) = (nil, nil) }
      return (self.hub, self.member)
    }
    if let member { hub?.remove(member) }
  }
}
#endif
