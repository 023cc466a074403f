// swift-tools-version: 6.3
import PackageDescription

// The module `SAPCommon` of the package Martlet, for packages that name this folder. It was here before it was there.
let common = Target.Dependency.product(name: "SAPCommon", package: "Martlet")
let package = Package(
  name: "SAPCommon",
  products: [.library(name: "SAPCommon", targets: ["SAPCommonByPath"])],
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    .target(name: "SAPCommonByPath", dependencies: [common]),
    .testTarget(
      name: "SAPCommonTests",
      dependencies: ["SAPCommonByPath", common, .product(name: "SAPFoundation", package: "Martlet")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
