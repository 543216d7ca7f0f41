import { assertEquals } from "@std/assert";

const folder = new URL(".", import.meta.url).pathname;

Deno.test("slots and runs are the same wherever the host's clock is set", async () => {
  for (const zone of ["America/New_York", "Asia/Hong_Kong", "Australia/Lord_Howe"]) {
    const { code, stderr, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--no-check",
        "-A",
        `${folder}slots_test.ts`,
        `${folder}scheduler_test.ts`,
        `${folder}run_test.ts`,
      ],
      env: { TZ: zone, NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(code, 0, `${zone}:\n${text.slice(-2000)}`);
  }
});
