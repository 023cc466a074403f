import CallDoubles
@_spi(Credentials) @testable import MartletEngine
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

/// What a ``Renewal`` promises when it is discarded, or when the user signs out.
@Suite("A renewal and a sign-out", .timeLimit(.minutes(5)))
struct RenewalSignOutTests {
  private struct Failure: Error {}

  @Test func aCallFromBeforeASignOutGetsNoValueAndStartsNoRenewal() async throws {
    let signOut = SignOutMark()
    let renewal = Renewal<String>("anna's", of: "the key", signOut: signOut)
    let before = Call()
    signOut.set()
    renewal.forget()
    for _ in 0..<2 {
      for answer in [
        try await renewal.value(where: { _ in true }, by: before) { _ in throw Failure() },
        try await renewal.value(insteadOf: { _ in true }, by: before) { _ in throw Failure() },
      ] { #expect(answer.version == nil && !answer.isSkipped) }
      #expect(renewal.usable(by: before) { _ in true } == nil)
      renewal.use("ben's")
    }
    #expect(renewal.usable(by: Call()) { _ in true }?.value == "ben's")
  }

  /// A call of the next user must not share the fate of a renewal that a call of the former user starts.
  @Test func noCallOfTheNextUserFailsWithTheSignOutOfTheFormerOne() async throws {
    for _ in 0..<1_000 {
      let signOut = SignOutMark()
      let renewal = Renewal<String>(nil, of: "the key", signOut: signOut)
      let before = Call()
      let old = Task { try await renewal.value(where: { _ in true }, by: before) { _ in "anna's" } }
      signOut.set()
      renewal.forget()
      let next = try await renewal.value(where: { _ in true }, by: Call()) { _ in "ben's" }

      #expect(next.version?.value == "ben's")
      switch await old.result {
      case .success(let answer): #expect(answer.version?.value != "ben's")
      case .failure(let error): #expect((error as? HTTPError)?.kind == HTTPError.signedOut.kind)
      }
    }
  }

  /// Several renewals share a mark, and each sets it again when it is forgotten.
  @Test func nothingThatBeganBetweenTwoMarksIsSharedWithTheNextUser() async throws {
    let signOut = SignOutMark()
    let renewal = Renewal<String>("anna's", of: "the key", signOut: signOut)
    let (started, gate) = (Gate(), Gate())
    signOut.set()
    let between = Call()
    let former = Task {
      try await renewal.value(where: { _ in true }, by: between) { old in
        started.open()
        try await gate.wait()
        return "renewed \(old ?? "from nothing")"
      }
    }
    try await started.wait()
    signOut.set()

    let next = try await renewal.value(where: { _ in true }, by: Call()) { old in "ben's, \(old ?? "from nothing")" }
    #expect(next.version?.value == "ben's, from nothing")
    renewal.forget()
    await #expect(throws: HTTPError.self) { try await former.value }
    gate.open()
    #expect(renewal.usable(by: Call()) { _ in true } == nil, "this sign-out is Ben's")
  }

  /// Another owner of the mark sets it, who does not know this renewal.
  @Test func aMarkThatIsSetAsARenewalBeginsEndsTheWait() async throws {
    for _ in 0..<1_000 {
      let signOut = SignOutMark()
      let renewal = Renewal<String>(nil, of: "the key", signOut: signOut)
      let caller = Task { try await renewal.value(where: { _ in true }, by: Call()) { _ in "new" } }
      while renewal.running == nil, renewal.number == nil { await Task.yield() }
      signOut.set()
      _ = try await caller.value
    }
  }

  @Test func aCallFromBeforeASignOutDoesNotRefuseAnEqualValue() async throws {
    let signOut = SignOutMark()
    let renewal = Renewal<String>("same", of: "the password", signOut: signOut)
    let before = Call()
    renewal.forget()
    renewal.use("same")
    let answer = try await renewal.value(insteadOf: { $0.value == "same" }, by: before) { _ in throw Failure() }
    #expect(answer.version == nil && !answer.isSkipped)
    #expect(renewal.usable(by: Call()) { _ in true }?.value == "same")
  }

  @Test func aDiscardedRenewalGoesOnBesideTheNextOne() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let (started, gate, ended) = (Gate(), Gate(), Gate())
    let first = Task {
      try await renewal.value(where: { _ in false }, by: Call()) { _ in
        started.open()
        try await gate.wait()
        #expect(!Task.isCancelled)
        ended.open()
        return "late"
      }
    }
    try await started.wait()
    renewal.forget()
    await #expect(throws: HTTPError.self) { try await first.value }

    let next = try await renewal.value(where: { _ in true }, by: Call()) { last in "after \(last ?? "nothing")" }
    #expect(next.version?.value == "after nothing")
    gate.open()
    try await ended.wait()
    #expect(renewal.usable(by: Call()) { _ in true }?.value == "after nothing")
  }

  /// The closure may begin long after the decision, when a sign-out has discarded the renewal.
  @Test func theClosureHasTheBeginningOfItsRenewal() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let signOut = SignOutMark()
    let before = Call()
    _ = try await renewal.value(where: { _ in true }, by: before) { _ in
      #expect(!SignOutMark().isAfter(.ofSharedWork))
      signOut.set()
      _ = Call()
      #expect(signOut.isAfter(.ofSharedWork))
      #expect(!signOut.isAfter(.now))
      return "a"
    }
    #expect(!signOut.isAfter(.ofSharedWork), "outside of the renewal")
  }

  /// A closure that begins at the moment of a sign-out gets the value from before, but knows that it may store nothing.
  @Test func noClosureThatBeginsAtASignOutMayStore() async throws {
    for _ in 0..<1_000 {
      let renewal = Renewal<String>("old", of: "the key")
      let signOut = SignOutMark()
      let stored = Mutex<[String]>([])
      let (begun, ended) = (Awaitable(0), Awaitable(0))
      let caller = Task {
        try await renewal.value(insteadOf: { $0.value == "old" }, by: Call()) { old in
          let beginning = Beginning.ofSharedWork
          begun.update { $0 += 1 }
          await Task.yield()
          stored.withLock { stored in
            if let old, !signOut.isAfter(beginning) { stored.append(old) }
          }
          ended.update { $0 += 1 }
          return old
        }
      }
      await Task.yield()
      signOut.set()
      renewal.forget()
      let early = stored.withLock { $0 }
      _ = await caller.result
      try await until { ended.value == begun.value }
      #expect(stored.withLock { $0 } == early)
    }
  }

  /// A sign-out sets the mark first: a renewal may end before it discards the value.
  @Test func aWaiterFromBeforeTheMarkGetsNoValueFromAfterIt() async throws {
    let signOut = SignOutMark()
    let renewal = Renewal<String>(nil, of: "the key", signOut: signOut)
    let answer = try await renewal.value(where: { _ in true }, by: Call()) { _ in
      signOut.set()
      return "anna's"
    }
    #expect(answer.version == nil && !answer.isSkipped)
  }

  @Test func theClosureMayForgetTheValue() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    await #expect(throws: HTTPError.self) {
      try await renewal.value(insteadOf: { _ in true }, by: Call()) { _ in
        renewal.forget()
        return "discarded"
      }
    }
    #expect(renewal.number == nil)
  }

  /// A request that the closure makes after the sign-out must not start a login for the former user.
  @Test func callsOfADiscardedClosureStillBelongToIt() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let inner = Mutex<[Bool]>([])
    let ended = Gate()
    await #expect(throws: HTTPError.self) {
      try await renewal.value(insteadOf: { _ in true }, by: Call()) { _ in
        renewal.forget()
        let context = CallContext.current
        for value in [nil, "ben's"] {
          if let value { renewal.use(value) }
          for call in [Call(), context.perform { Call() }] {
            let isUsable = renewal.usable(by: call) { _ in true } != nil
            let answer = try await renewal.value(where: { _ in true }, by: call) { _ in "another login" }
            inner.withLock { $0.append(answer.isSkipped && !isUsable) }
          }
        }
        ended.open()
        return "discarded"
      }
    }
    try await ended.wait()
    #expect(inner.withLock { $0 } == [true, true, true, true])
    #expect(renewal.usable(by: Call()) { _ in true }?.value == "ben's")
  }

  @Test func aLaterSignOutIsNotUndoneByAnEarlierOne() async throws {
    let signOut = SignOutMark()
    await withTaskGroup { group in
      for _ in 0..<4 { group.addTask { for _ in 0..<10_000 { signOut.set() } } }
      group.addTask {
        var last: UInt64 = 0
        for _ in 0..<40_000 {
          let next = signOut.last
          #expect(next >= last)
          last = next
        }
      }
    }
  }

  /// A renewal reads the position and then the mark. If it finds the former mark, it must not count after the next one.
  @Test func whatFindsTheFormerMarkBeganBeforeTheNextSignOut() async throws {
    let signOut = SignOutMark()
    let isOver = Atomic(false)
    async let found = Task.detached {
      var latest: [UInt64: UInt64] = [:]
      while !isOver.load(ordering: .relaxed) {
        for _ in 0..<100 {
          let position = Call.lastPosition
          latest[signOut.last] = position
        }
        await Task.yield()
      }
      return latest
    }.value
    var marks: [UInt64] = [0]
    for _ in 0..<100_000 {
      signOut.set()
      marks.append(signOut.last)
    }
    isOver.store(true, ordering: .relaxed)
    let latest = await found
    let uncounted = zip(marks, marks.dropFirst()).filter { mark, next in latest[mark].map { $0 >= next } ?? false }
    #expect(uncounted.isEmpty, "the former user's work counts after \(uncounted.count) sign-outs")
  }

  @Test func aValueThatWasObtainedBeforeASignOutIsNotUsed() async throws {
    let signOut = SignOutMark()
    let renewal = Renewal<String>("anna's", of: "the key", signOut: signOut)
    let before = Beginning.now
    renewal.use("anna's second", begun: before)
    #expect(renewal.usable(by: Call()) { _ in true }?.value == "anna's second")
    renewal.forget()
    let (started, gate) = (Gate(), Gate())
    async let ben = renewal.value(where: { _ in true }, by: Call()) { _ in
      started.open()
      try await gate.wait()
      return "ben's"
    }
    try await started.wait()
    for late in ["anna's third", nil] { renewal.use(late, begun: before) }
    gate.open()
    #expect(try await ben.version?.value == "ben's")
  }

  /// Its waiters get the value that was obtained before, or the error; none if the sign-out is known by then.
  @Test func waitersLearnOfASignOutWhileTheRenewalEnds() async throws {
    for _ in 0..<1_000 {
      let (renewal, gate, caller) = await Renewal.running()
      async let forgotten: Void = renewal.forget()
      gate.open()
      await forgotten

      switch await caller.result {
      case .success(let answer): #expect(answer.version.map { $0.value == "renewed" } ?? !answer.isSkipped)
      case .failure(let error): #expect((error as? HTTPError)?.kind == HTTPError.signedOut.kind)
      }
      #expect(renewal.number == nil)
    }
  }
}

extension Renewal<String> {
  /// Makes a renewal that runs until the gate opens, and a call that waits for it.
  static func running() async -> (renewal: Renewal, gate: Gate, caller: Task<Answer, any Error>) {
    let (renewal, gate) = (Renewal(nil, of: "the key"), Gate())
    let caller = Task {
      try await renewal.value(where: { _ in true }, by: Call()) { _ in
        try await gate.wait()
        return "renewed"
      }
    }
    while renewal.running == nil { await Task.yield() }
    return (renewal, gate, caller)
  }
}
