import Foundation
import Martlet

// What the modules beside the client use of it: an application does not see it.

func tools(_ url: URL) {
  // error: 'redacted' is inaccessible due to '@_spi' protection level
  _ = url.redacted
  // error: 'bounded' is inaccessible due to '@_spi' protection level
  _ = Duration.seconds(1).bounded
  // error: 'printable' is inaccessible due to '@_spi' protection level
  _ = "text".printable
  // error: cannot find 'Deadline' in scope
  _ = Deadline.self
  // error: cannot find 'WorkerThreads' in scope
  _ = WorkerThreads("decoding", limit: 2)
}

func credentials() {
  // error: cannot find 'Renewal' in scope
  _ = Renewal<String>(nil)
  // error: cannot find 'TokenAnswer' in scope
  _ = TokenAnswer.isToken("token")
  // error: cannot find 'RenewalFailure' in scope
  _ = RenewalFailure(.badRequest)
}

func transports() {
  // error: cannot find 'SignalQueue' in scope
  _ = SignalQueue<Int>.self
}
