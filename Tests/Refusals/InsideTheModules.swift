import Foundation
import MartletObservation
import MartletSQLite
import MartletTesting

// What the modules outside of the client share with each other and with the tool: an application does not see it.

func stores(_ store: SQLiteCookieStore, _ values: SQLiteKeyValueStore) throws {
  // error: cannot find 'CookieSnapshot' in scope
  _ = CookieSnapshot()
  // error: 'blockingCookies' is inaccessible due to '@_spi' protection level
  _ = try store.blockingCookies()
  // error: 'blockingKeys' is inaccessible due to '@_spi' protection level
  _ = try values.blockingKeys()
}

func recordings(_ recorder: HARRecorder, _ counter: TaskCounter) {
  // error: cannot find 'Waterfall' in scope
  _ = Waterfall.legend
  // error: cannot find 'CallMeter' in scope
  _ = CallMeter.self
  // error: 'begin' is inaccessible due to '@_spi' protection level
  _ = counter.begin()
}

func servers() {
  // error: cannot find 'Awaitable' in scope
  _ = Awaitable(0)
  // error: cannot find 'SystemCalls' in scope
  SystemCalls.report("")
}
