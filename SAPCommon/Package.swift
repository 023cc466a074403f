// swift-tools-version: 6.3
import PackageDescription

// A module named `SAPCommon`, so that code for SAP's SDK moves without an edit of its imports. It is a package of its
// own, because it must not meet SAP's framework of that name.
let package = Package(
  name: "SAPCommon",
  products: [.library(name: "SAPCommon", targets: ["SAPCommon"])],
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    .target(name: "SAPCommon", dependencies: [.product(name: "SAPFoundation", package: "Martlet")]),
    .testTarget(name: "SAPCommonTests", dependencies: ["SAPCommon"], swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
