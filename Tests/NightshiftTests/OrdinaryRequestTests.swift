import Foundation
import FoundationNetworking
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of requests that iOS code makes: the data sent to the service, and the errors for requests that exceed limits.
@Suite struct OrdinaryRequestTests {
    private func sent(_ change: (inout URLRequest) -> Void) throws -> TaskRequest {
        let world = try World()
        var request = URLRequest(url: url())
        change(&request)
        world.process().session(Recorder()).downloadTask(with: request).resume()
        return try #require(world.service.state.read { $0.requests[1]?.request })
    }

    @Test func `T4: A download sends its body with its content type`() throws {
        let form = try sent {
            $0.httpMethod = "POST"
            $0.httpBody = Data("a=b".utf8)
        }
        #expect(form.body == Data("a=b".utf8) && form.method == "POST")
        #expect(form.headers?.first("Content-Type") == "application/x-www-form-urlencoded")
        let typed = try sent {
            $0.httpMethod = "POST"
            $0.httpBody = Data("{}".utf8)
            $0.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        #expect(typed.headers?.first("Content-Type") == "application/json")
        let streamed = try sent {
            $0.httpMethod = "DELETE"
            $0.httpBodyStream = InputStream(data: Data("stream".utf8))
        }
        #expect(streamed.body == Data("stream".utf8) && streamed.method == "DELETE")
        #expect(try sent { _ in }.body == nil)
    }

    static let refusals: [(Problem, URLError.Code)] = [
        (.invalid("", pointer: "/tasks/0/url", code: .badURL), .badURL),
        (.invalid("", pointer: "/tasks/0/url", code: .unsupportedURL), .unsupportedURL),
        (.invalid("", pointer: "/tasks/0/body", code: .tooLarge), .dataLengthExceedsMaximum),
        (.invalid("", pointer: "/tasks/0/source"), .fileDoesNotExist),
        (.invalid("", pointer: "/tasks/0/resumeData"), .unsupportedURL),
        (.invalid("", pointer: "/tasks/0/headers/0/name"), .badURL), (.forbidden(""), .noPermissionsToReadFile),
        (.sessionInUse(""), .backgroundSessionInUseByAnotherProcess), (.tooMany(""), .resourceUnavailable),
        (.tooLarge(""), .dataLengthExceedsMaximum), (.conflict(""), .resourceUnavailable),
        (.unavailable(""), .resourceUnavailable), (.badRequest(""), .badURL),
    ]

    @Test(arguments: refusals.indices) func `T7: The code of a refusal names its reason`(_ index: Int) {
        let (problem, code) = Self.refusals[index]
        #expect(problem.urlErrorCode == code.rawValue)
    }

    @Test func `T7: A refused task ends with the code of the refusal`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        world.service.state.update {
            $0.refusals["POST /v1/process/sessions/org.example.photos/tasks"] = .invalid(
                "no", pointer: "/tasks/0/url", code: .badURL)
        }
        let task = session.downloadTask(with: url())
        task.resume()
        try await eventually("the end") { task.state == .completed }
        #expect((task.error as? URLError)?.code == .badURL, "\(String(describing: task.error))")
    }
}
