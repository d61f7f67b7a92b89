import ArgumentParser
import TestSupport

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks that a file holds exactly what the origin serves.",
        discussion: "Exits with 0 when it does, and with 1 when it does not.")

    @Argument(help: "The file to check.")
    var file: String

    @Option(help: "The size it should have.")
    var size = ByteCount(300 << 20)

    @Option(help: "The seed of its content.")
    var seed: UInt64 = 1

    func run() throws {
        if let offset = try SeededContent.verify(fileAt: file, seed: seed, size: size.bytes) {
            print("\(file): differs at byte \(offset)")
            throw ExitCode.failure
        }
        print("\(file): whole and correct, \(size.bytes) bytes")
    }
}
