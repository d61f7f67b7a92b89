import Foundation
import Store
import Testing
import Transfers

@Suite struct UploadResourceTests {
    @Test(arguments: [UploadProtocol.draft(.v3), .draft(.v8), .tus])
    func `Outlives a crash as JSON`(uploadProtocol: UploadProtocol) throws {
        var resource = UploadResource(
            url: "https://example.org/uploads/1", uploadProtocol: uploadProtocol, offset: 5, length: 10, source: "a",
            sharesSecrets: true)
        resource.partSize = 3
        resource.expiresAt = 1_000
        let row = try JSONEncoder().encode(resource)
        #expect(try JSONDecoder().decode(UploadResource.self, from: row) == resource)
    }
}
