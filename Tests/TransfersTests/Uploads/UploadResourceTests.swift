import Foundation
import Store
import Testing
import Transfers

@Suite struct UploadResourceTests {
    @Test(arguments: [UploadProtocol.draft(.v3), .draft(.v8), .tus])
    func `An upload resource can be stored as JSON and read back after a crash`(uploadProtocol: UploadProtocol) throws {
        var resource = UploadResource(
            url: "https://example.org/uploads/1", uploadProtocol: uploadProtocol, offset: 5, length: 10, source: "a",
            sharesSecrets: true)
        resource.partSize = 3
        resource.expiresAt = 1_000
        let row = try JSONEncoder().encode(resource)
        #expect(try JSONDecoder().decode(UploadResource.self, from: row) == resource)
    }

    @Test func `A file to upload counts as unchanged without a lasting inode number`() {
        let accepted = FileIdentity(size: 1, modifiedNanoseconds: 2, inode: 3, device: 4)
        let file = UploadSource.File(path: "/mnt/card/photo.jpg", identity: accepted)
        var now = accepted
        now.inode = 0
        #expect(file.isUnchanged(now))
        now.modifiedNanoseconds = 3
        #expect(!file.isUnchanged(now))
        now = accepted
        now.inode = 5
        #expect(!file.isUnchanged(now))
    }
}
