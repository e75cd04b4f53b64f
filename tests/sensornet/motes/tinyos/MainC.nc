module MainC { provides interface Boot; }
implementation { int main() @C() @spontaneous() { signal Boot.booted(); return 0; } }
