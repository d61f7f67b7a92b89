import ArgumentParser
import Foundation
import NightshiftAPI
import Receiver

/// A program that measures how long the receiver is on for regions, and how late their crossings are reported, as JSON.
@main
struct ReceiverProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receiver-report",
        abstract: "Runs the plan of fixes, and strategies to compare it with, over a commuter's weeks.",
        discussion: "The commuter is described in docs/decisions/0041.")

    @Option(help: "The number of weeks, which all differ.")
    var weeks: UInt64 = 5

    @Option(help: "The file for the JSON. By default it is printed.")
    var output: String?

    func validate() throws {
        guard (1...1_000).contains(weeks) else { throw ValidationError("--weeks: 1 to 1000") }
    }

    func run() throws {
        let json = try JSON.encode(ReceiverReport(seeds: 1...weeks))
        if let output {
            try json.write(to: URL(filePath: output))
        } else {
            print(String(decoding: json, as: UTF8.self))
        }
    }
}
