// swift-tools-version: 6.2
import PackageDescription

// A foreign package, with one program for each product of Martlet. It tests what an optimised build by a user compiles
// and links, which no build of Martlet itself does.
let programs = [
  ("martlet", "Martlet"), ("observation", "MartletObservation"),
  ("inspector", "MartletInspector"),
  ("sign-in", "MartletSignIn"),
  ("web-socket", "MartletWebSocket"), ("sockets", "MartletSockets"), ("urlsession", "MartletURLSession"),
  ("combine", "MartletCombine"), ("combine-foundation", "MartletCombineFoundation"), ("sap", "SAPFoundation"),
  ("sap-flows", "SAPFioriFlows"), ("sap-common", "SAPCommon"),
  ("odata", "SAPOData"), ("sqlite", "MartletSQLite"), ("redis", "MartletRedis"), ("kerberos", "MartletKerberos"),
  ("tasks", "MartletTasks"),
  ("tasks-testing", "MartletTasksTesting"), ("images", "MartletImages"), ("testing", "MartletTesting"),
  ("sap-testing", "SAPFoundationTesting"),
]

let package = Package(
  name: "Consumer",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..")],
  targets: programs.map { program, product in
    .executableTarget(name: program, dependencies: [.product(name: product, package: "Martlet")])
  } + [
    // An author of extensions, who also uses SPIs.
    .executableTarget(
      name: "extending",
      dependencies: ["Martlet", "MartletEngine"].map { .product(name: $0, package: "Martlet") })
  ]
)
