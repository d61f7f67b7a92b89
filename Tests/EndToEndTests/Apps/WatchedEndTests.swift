import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of the end of an app whose status is read all the time (T9).
@Suite(.serialized, .timeLimit(.minutes(20))) struct WatchedEndTests {
    @Test func `T9: The service does not launch an app again that dies after it has handled all events`() async throws {
        let app = try AppFixture()
        app.origin.serve("/film", .text("film"))
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/film"), "film")] }
        try await app.install()
        let rounds = 8
        for round in 1...rounds {
            try await app.launch()
            try await app.wait(for: .completed, count: round)
            try await app.waitForAcknowledgement()
            let process = try #require(app.seen(.launched).last?.process)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { while try await app.status().processID == process {} }
                }
                try await app.killApp()
                try await group.waitForAll()
            }
            try #require(try await app.status().processID == nil, "round \(round)")
        }
        #expect(app.seen(.launched).map(\.text) == Array(repeating: "foreground", count: rounds))
    }
}
