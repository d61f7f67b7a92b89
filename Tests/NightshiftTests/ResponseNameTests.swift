import Foundation
import FoundationNetworking
import Testing

@testable import Nightshift

struct ResponseNameTests {
    @Test(
        arguments: [
            ("http://a.example/films/film.mkv", nil, "film.mkv"),
            ("http://a.example/films/film.mkv?token=1", nil, "film.mkv"),
            ("http://a.example/the%20film.mkv", nil, "the film.mkv"), ("http://a.example/", nil, "a.example"),
            ("http://a.example", nil, "a.example"), ("http://a.example/x/..%2F..%2Fpasswd", nil, ".._.._passwd"),
            ("http://a.example/film", "attachment; filename=\"other.mkv\"", "other.mkv"),
            ("http://a.example/film.mkv", "inline", "film.mkv"),
        ] as [(String, String?, String)])
    func `T7: The suggested file name comes from the header field, the URL or the host`(
        address: String, disposition: String?, name: String
    ) throws {
        let url = try #require(URL(string: address))
        let response = try #require(
            BackgroundURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1",
                headerFields: disposition.map { ["Content-Disposition": $0] }))
        #expect(response.suggestedFilename == name)
    }
}
