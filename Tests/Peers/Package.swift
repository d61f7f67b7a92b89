// swift-tools-version: 6.2
import PackageDescription

// Servers that nobody of this project wrote, as programs for its tests. A package of its own: what it needs is of no
// use to the project itself. Built by build.sh.
let package = Package(
    name: "peers",
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    ],
    targets: [
        // A link to the project's own shim, so that large uploads are hashed by libcrypto in debug builds, too.
        .target(name: "CDigest", linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(
            name: "resumable-upload-server",
            dependencies: [
                "CDigest",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
