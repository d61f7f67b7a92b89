import NightshiftAPI
import Testing
import Transfers

@Suite struct FileSizeLimitTests {
    @Test func `T4: The error of a download that exceeds the service's file size limit names the limit`() {
        let failure = FileSizeLimit.failure(end: 3_000, limit: 2_000)
        #expect(failure.code == .tooLarge)
        #expect(failure.message.contains("2000 bytes") && failure.message.contains("ulimit -f"))
        #expect(FileSizeLimit.failure(end: nil, limit: 2_000).message.contains("2000 bytes"))
    }

    @Test(arguments: [(3_000, nil), (3_000, 4_000), (nil, nil)] as [(Int64?, Int64?)])
    func `T4: The error about a file that is too large names the file system unless a limit applies`(
        end: Int64?, limit: Int64?
    ) {
        #expect(FileSizeLimit.failure(end: end, limit: limit).message.contains("file system"))
    }
}
